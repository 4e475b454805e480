//! The options of `tuner tune`.

use std::path::PathBuf;
use std::str::FromStr;

use autokernel_codegen::schedule::Schedule;
use autokernel_core::dim;
use clap::Args;

use super::error::AppError;
use crate::constraints::Constraints;
use crate::demand::DemandArgs;
use crate::filter::Filter;
use crate::folder;
use crate::gate::Check;
use crate::gpu::cli::{FinalistArgs, GpuArgs};
use crate::llm::LlmArgs;
use crate::objective::Objective;
use crate::options::not_negative;
use crate::range::RangeArgs;
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
    /// One entry for many sizes.
    #[command(flatten)]
    pub range: RangeArgs,

    /// Who proposes: random, local, surrogate, llm or hybrid; the last two need --llm [default: surrogate, with --llm
    /// hybrid]
    #[arg(long, value_name = "NAME", help_heading = "Search")]
    pub strategy: Option<StrategyName>,
    /// What a search makes small: the time of a launch, or the energy that the board takes for it. NVML counts that in steps of some ten
    /// milliseconds, so that each schedule runs for 0.6 s more; on a GPU of this machine, and without a model.
    #[arg(long, value_enum, default_value_t = Objective::Time, conflicts_with_all = ["study", "llm"], help_heading = "Search")]
    pub objective: Objective,
    /// How much to spend on each shape, unless --evaluations and --patience say otherwise.
    #[arg(long, value_enum, default_value_t = Preset::Standard, help_heading = "Search")]
    pub effort: Preset,
    /// Schedules to try for each shape, those that the journal answers included [default: 60; see --effort]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Search")]
    pub evaluations: Option<u32>,
    /// Generations these are divided into; the strategy learns from each [default: 5, or as many as have 12 schedules each]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Search")]
    pub generations: Option<u32>,
    /// End after so many minutes, finals not counted; shapes share them evenly.
    #[arg(long, value_name = "MINUTES", value_parser = not_negative, help_heading = "Search")]
    pub minutes: Option<f64>,
    /// End a search when so many trials in a row brought nothing faster.
    #[arg(long, value_name = "TRIALS", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Search")]
    pub patience: Option<u32>,
    /// Knobs that are fixed, and values that are left out.
    #[command(flatten)]
    pub constraints: Constraints,
    /// Try these first: a schedule as JSON, as best_config.json has it, or a file with one a line; may be repeated.
    #[arg(long, value_name = "JSON|FILE", help_heading = "Search")]
    pub start: Vec<Start>,
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
    /// Search whatever `tuner study demand` asks of the study, for every kind of GPU that workers measure on, each below
    /// --out in a folder of its own. As many may watch as like to: what one searches when it dies, another takes over.
    #[arg(long, requires = "study", conflicts_with_all = ["shape", "package", "shapes_from", "write", "spaces", "gpus"], help_heading = "Several machines")]
    pub watch: bool,
    /// With --watch: end when nothing was demanded for so many seconds [default: wait for more].
    #[arg(long, value_name = "SECONDS", requires = "watch", value_parser = not_negative, help_heading = "Several machines")]
    pub idle: Option<f64>,

    /// Hold a final again although the same schedules have met in the journal.
    #[arg(long, conflicts_with = "study", help_heading = "GPUs and finals")]
    pub final_again: bool,

    /// Lets each replayed trial take this long, so that tests can interrupt it.
    #[arg(long, hide = true, value_name = "MS", default_value_t = 0)]
    pub replay_delay_ms: u64,
}

/// Schedules of a person's own.
#[derive(Clone, Debug)]
pub struct Start(pub Vec<Schedule>);

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_json = text.trim_start().starts_with('{');
        let lines = match is_json {
            true => text.to_owned(),
            false => {
                std::fs::read_to_string(text).map_err(|error| format!("{text}: {error}; write JSON, or name a file"))?
            }
        };
        let read = |(index, line): (usize, &str)| {
            let place = if is_json { String::new() } else { format!("{text}:{}: ", index + 1) };
            serde_json::from_str(line).map_err(|error| format!("{place}no schedule: {error}"))
        };
        let lines = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.map(read).collect::<Result<_, _>>().map(Start)
    }
}

/// Generations of a search, and schedules of each, unless the options say otherwise: with a larger budget there are more of
/// them, so that the search begins as with the smaller one.
const GENERATIONS: u32 = 5;
const GENERATION: u32 = 12;

/// How much is spent on a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// 24 evaluations, fewer if 12 in a row bring nothing faster: the first look at many shapes.
    Quick,
    /// 60 evaluations.
    Standard,
    /// 600 evaluations, fewer if 150 in a row bring nothing faster: what is to be committed.
    Thorough,
}

impl Preset {
    /// Evaluations, and how many in a row may bring nothing faster.
    const fn limits(self) -> (u32, Option<u32>) {
        match self {
            Preset::Quick => (24, Some(12)),
            Preset::Standard => (60, None),
            Preset::Thorough => (600, Some(150)),
        }
    }
}

impl TuneArgs {
    /// The same, with the sizes of `--range` that are searched in the place of those that were named.
    ///
    /// # Errors
    /// Nothing says of which shapes it is, or a shape does not have its dimension.
    pub fn spread(&self) -> Result<Self, AppError> {
        let mut spread = self.clone();
        let Some(range) = self.range.range else { return Ok(spread) };
        spread.filter.shape = self.range.spread(&self.filter.shape)?;
        if self.filter.shape.is_empty() {
            if self.demand.package.is_none() || range.dim != dim("m") {
                return Err(AppError::Usage(
                    "--range says nothing of the other sizes: name a shape with --shape, or with --crate a crate whose kernels have known n and k",
                ));
            }
            spread.demand.m = range.spread(self.range.range_sizes);
        }
        Ok(spread)
    }

    /// Schedules to try for each shape.
    pub fn evaluations(&self) -> u32 {
        self.evaluations.unwrap_or(self.effort.limits().0)
    }

    /// How many trials in a row may bring nothing faster. Whoever says how many to try means as many.
    pub fn patience(&self) -> Option<u32> {
        let of_preset = || self.effort.limits().1.filter(|_| self.evaluations.is_none());
        self.patience.or_else(of_preset)
    }

    /// Generations that the evaluations are divided into.
    pub fn generations(&self) -> u32 {
        self.generations.unwrap_or_else(|| self.evaluations().div_ceil(GENERATION).max(GENERATIONS))
    }
}
