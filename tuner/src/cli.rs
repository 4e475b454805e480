//! The command line.

use std::path::PathBuf;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::problem::Layout;
use autokernel_codegen::shape::Shape;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::gpu::cli::{RecordArgs, WorkerArgs};
use crate::llm::LlmArgs;

/// Finds the fastest schedules for autokernel's kernels and writes them to best_config.json.
#[derive(Debug, Parser)]
#[command(version, about, after_help = EXIT_CODES, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do; `tune` if nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `tune`.
    #[command(flatten)]
    pub tune: TuneArgs,
}

/// Documented exit codes.
const EXIT_CODES: &str = "\
Exit codes:
  0    finished; see the verdicts for what was promoted
  1    could not go on; the last line says why and what to do
  2    the command line is wrong
  3    another tuner is using the output folder
  4    a prompt awaits its reply file (--llm-unanswered stop); the same command goes on once it is there
  130  interrupted; the outputs are written, and the same command goes on";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Search schedules and promote the winners (the default).
    Tune(TuneArgs),
    /// Measure a whole space of schedules on this machine's GPU, to be searched again without one.
    Record(RecordArgs),
    /// Serve measurements on standard input and output (started by the tuner itself).
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// What to tune and how.
#[derive(Clone, Debug, Args)]
pub struct TuneArgs {
    /// Only this shape, as MxNxK; may be repeated.
    #[arg(long, value_name = "MxNxK")]
    pub shape: Vec<Shape>,
    /// Only this problem class, for example matmul_leaky_relu_bf16_bf16_nt.
    #[arg(long, value_name = "CLASS")]
    pub problem: Option<String>,
    /// Only this epilogue, for example gelu or leaky_relu(0.2).
    #[arg(long, value_parser = epilogue)]
    pub epilogue: Option<Epilogue>,
    /// Only this type of A and B: bf16 or f16.
    #[arg(long, value_parser = input_type)]
    pub dtype: Option<Dtype>,
    /// Only this layout: nn (B is [k, n]) or nt (B is [n, k]).
    #[arg(long, value_parser = layout)]
    pub layout: Option<Layout>,
    /// Only this target, for example sm_90a.
    #[arg(long)]
    pub arch: Option<Arch>,

    /// Who proposes; llm needs --llm and is the default with it.
    #[arg(long, value_enum)]
    pub strategy: Option<StrategyName>,
    /// Schedules to try for each shape, those that the journal answers included.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub evaluations: u32,
    /// Generations these are divided into; the strategy learns from each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub generations: u32,
    /// Decides every random choice: the same seed searches the same way.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The language model.
    #[command(flatten)]
    pub llm: LlmArgs,

    /// Where history, charts and the new best_config.json go.
    #[arg(long, value_name = "DIR", default_value = "tuner-out")]
    pub out: PathBuf,
    /// The config that is in use; its entries are what a winner must beat [default: best_config.json].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write promoted entries into the config itself, not only into the output folder.
    #[arg(long)]
    pub write: bool,
    /// Start over: put the journal of earlier runs aside.
    #[arg(long)]
    pub fresh: bool,
    /// Where recorded spaces are [default: the tuner's own].
    #[arg(long, value_name = "DIR")]
    pub spaces: Option<PathBuf>,

    /// Lets each replayed trial take this long, so that tests can interrupt it.
    #[arg(long, hide = true, value_name = "MS", default_value_t = 0)]
    pub replay_delay_ms: u64,
}

/// Who proposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrategyName {
    /// Schedules at random.
    Random,
    /// Steps from the best.
    Local,
    /// A language model.
    Llm,
}

fn epilogue(text: &str) -> Result<Epilogue, String> {
    text.parse::<Epilogue>().map_err(|error| error.to_string())
}

fn input_type(text: &str) -> Result<Dtype, String> {
    let known = Dtype::from_name(text).filter(|dtype| dtype.is_input());
    known.ok_or_else(|| format!("`{text}` is not an input type; write bf16 or f16"))
}

fn layout(text: &str) -> Result<Layout, String> {
    let known = Layout::ALL.into_iter().find(|layout| layout.to_string() == text);
    known.ok_or_else(|| format!("`{text}` is not a layout; write nn or nt"))
}
