//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::compare::CompareArgs;
use crate::doctor::DoctorArgs;
use crate::exchange::{ExportArgs, ImportArgs};
use crate::filter::Filter;
use crate::folder;
use crate::gpu::cli::{FinalArgs, GpuArgs, RecordArgs, WorkerArgs};
use crate::llm::LlmArgs;
use crate::profile::ProfileArgs;
use crate::report::ReportArgs;
use crate::show::ShowArgs;
use crate::strategy::StrategyName;

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

/// A number from 0 up, for options.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}` is not a number from 0 up"))
}

/// Documented exit codes.
const EXIT_CODES: &str = "\
Exit codes:
  0    finished; see the verdicts for what was promoted
  1    could not go on; the last line says why and what to do
  2    the command line is wrong
  3    another tuner is using the output folder
  4    a prompt awaits its reply file (--llm-unanswered stop); the same command goes on once it is there
  130  tune or final was interrupted; what was measured is kept, and tune goes on by the same command";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Search schedules and promote the winners (the default).
    Tune(Box<TuneArgs>),
    /// Measure a whole space of schedules on this machine's GPU, to be searched again without one.
    Record(RecordArgs),
    /// Hold strategies against each other on recorded spaces, at equal budgets and over many seeds.
    Compare(CompareArgs),
    /// Hold the finals of a journal again, and say how far their choices are from the best.
    Final(FinalArgs),
    /// Write the trials of a journal in a format that other tuners read.
    Export(ExportArgs),
    /// Make a space to replay of another tuner's results.
    Import(ImportArgs),
    /// Check what tuning needs: driver, GPU, nvcc, config, caches, recorded spaces.
    Doctor(DoctorArgs),
    /// List the tuned entries, how old they are, and which should be tuned again.
    Show(ShowArgs),
    /// Say what bounds a kernel, how full it keeps a GPU, and what to try next.
    Profile(ProfileArgs),
    /// Write an output folder's results as one HTML page.
    Report(ReportArgs),
    /// Serve measurements on standard input and output (started by the tuner itself).
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// What to tune and how.
#[derive(Clone, Debug, Args)]
pub struct TuneArgs {
    /// Which targets.
    #[command(flatten, next_help_heading = "What to tune")]
    pub filter: Filter,
    /// The kernels that this crate declares, at the shapes of --shapes-from, of --shape, or of their known dimensions;
    /// the config is then its own best_config.json.
    #[arg(long = "crate", value_name = "DIR", help_heading = "What to tune")]
    pub package: Option<PathBuf>,
    /// The products that a program computed with AUTOKERNEL_RECORD=FILE in its environment, those first that took the
    /// most operations.
    #[arg(long, value_name = "FILE", help_heading = "What to tune")]
    pub shapes_from: Option<PathBuf>,
    /// Only the first N of --shapes-from.
    #[arg(long, value_name = "N", requires = "shapes_from", value_parser = clap::value_parser!(u32).range(1..), help_heading = "What to tune")]
    pub top: Option<u32>,
    /// With --crate: these rows of A, in place of those recorded; several with commas [default without --shapes-from:
    /// 16,128,1024,4096].
    #[arg(long, value_name = "M", requires = "package", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..), help_heading = "What to tune")]
    pub m: Vec<u32>,

    /// Who proposes: random, local, surrogate, llm or hybrid; the last two need --llm [default: surrogate, with --llm
    /// hybrid]
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub strategy: Option<StrategyName>,
    /// Schedules to try for each shape, those that the journal answers included.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Search")]
    pub evaluations: u32,
    /// Generations these are divided into; the strategy learns from each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Search")]
    pub generations: u32,
    /// Decides every random choice: the same seed searches the same way.
    #[arg(long, default_value_t = 0, help_heading = "Search")]
    pub seed: u64,
    /// The language model.
    #[command(flatten)]
    pub llm: LlmArgs,

    /// Where history, charts and the new best_config.json go.
    #[arg(long, value_name = "DIR", default_value = folder::DEFAULT, help_heading = "Input and output")]
    pub out: PathBuf,
    /// The config that is in use; its entries are what a winner must beat [default: best_config.json].
    #[arg(long, value_name = "FILE", help_heading = "Input and output")]
    pub config: Option<PathBuf>,
    /// Write promoted entries into the config itself, not only into the output folder.
    #[arg(long, help_heading = "Input and output")]
    pub write: bool,
    /// Start over: put the journal of earlier runs aside.
    #[arg(long, help_heading = "Input and output")]
    pub fresh: bool,
    /// Replay the recorded spaces of this folder, GPU or not [default: the tuner's own, where no GPU can measure].
    #[arg(long, value_name = "DIR", conflicts_with = "gpus", help_heading = "Input and output")]
    pub spaces: Option<PathBuf>,
    /// Print one JSON document on standard output at the end; what is for people goes to standard error.
    #[arg(long, help_heading = "Input and output")]
    pub json: bool,

    /// On which GPUs, and how finals are held.
    #[command(flatten)]
    pub gpu: GpuArgs,

    /// Hold a final again although the same schedules have met in the journal.
    #[arg(long, help_heading = "GPUs and finals")]
    pub final_again: bool,

    /// Lets each replayed trial take this long, so that tests can interrupt it.
    #[arg(long, hide = true, value_name = "MS", default_value_t = 0)]
    pub replay_delay_ms: u64,
}
