//! The options of `tuner tune`.

use std::path::PathBuf;

use clap::Args;

use crate::demand::DemandArgs;
use crate::filter::Filter;
use crate::folder;
use crate::gate::Check;
use crate::gpu::cli::{FinalistArgs, GpuArgs};
use crate::llm::LlmArgs;
use crate::source::StudyArgs;
use crate::strategy_name::StrategyName;

/// What to tune and how.
#[derive(Clone, Debug, Args)]
pub struct TuneArgs {
    /// Which targets.
    #[command(flatten, next_help_heading = "What to tune")]
    pub filter: Filter,
    /// Whose kernels.
    #[command(flatten)]
    pub demand: DemandArgs,

    /// Who proposes: random, local, surrogate, llm or hybrid; the last two need --llm [default: surrogate, with --llm
    /// hybrid]
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub strategy: Option<StrategyName>,
    /// Schedules to try for each shape, those that the journal answers included.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Search")]
    pub evaluations: u32,
    /// Generations these are divided into; the strategy learns from each [default: 5, or as many as have 12 schedules each]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Search")]
    pub generations: Option<u32>,
    /// Decides every random choice: the same seed searches the same way.
    #[arg(long, default_value_t = 0, help_heading = "Search")]
    pub seed: u64,
    /// What each schedule must pass before it is measured. `emulate` runs its kernel on an emulated GPU, at small shapes and
    /// with every access checked: seconds a schedule, with nvcc.
    #[arg(long, value_name = "CHECK", conflicts_with = "study", help_heading = "Search")]
    pub check: Option<Check>,
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
    #[arg(long, conflicts_with = "study", help_heading = "Input and output")]
    pub fresh: bool,
    /// Replay the recorded spaces of this folder, GPU or not [default: the tuner's own, where no GPU can measure].
    #[arg(long, value_name = "DIR", conflicts_with = "gpus", help_heading = "Input and output")]
    pub spaces: Option<PathBuf>,
    /// Print one JSON document on standard output at the end; what is for people goes to standard error.
    #[arg(long, help_heading = "Input and output")]
    pub json: bool,

    /// On which GPUs.
    #[command(flatten)]
    pub gpu: GpuArgs,
    /// How finals are held.
    #[command(flatten)]
    pub qualify: FinalistArgs,
    /// The study, where several machines measure.
    #[command(flatten)]
    pub source: StudyArgs,

    /// Hold a final again although the same schedules have met in the journal.
    #[arg(long, conflicts_with = "study", help_heading = "GPUs and finals")]
    pub final_again: bool,

    /// Lets each replayed trial take this long, so that tests can interrupt it.
    #[arg(long, hide = true, value_name = "MS", default_value_t = 0)]
    pub replay_delay_ms: u64,
}

/// Generations of a search, and schedules of each, unless the options say otherwise: with a larger budget there are more of
/// them, so that the search begins as with the smaller one.
const GENERATIONS: u32 = 5;
const GENERATION: u32 = 12;

impl TuneArgs {
    /// Generations that the evaluations are divided into.
    pub fn generations(&self) -> u32 {
        self.generations.unwrap_or_else(|| self.evaluations.div_ceil(GENERATION).max(GENERATIONS))
    }
}
