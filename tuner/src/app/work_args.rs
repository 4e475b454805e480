//! The options of `tuner work`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::folder;
use crate::gate::Check;
use crate::gpu::cli::GpuArgs;
use crate::options::not_negative;
use crate::study::StudyUrl;

/// Measure for a study: take what it asks of GPUs like this machine's, and write down what comes of it.
#[derive(Debug, clap::Args)]
pub struct WorkArgs {
    /// The study: postgres://USER@HOST/DATABASE, or env:VARIABLE where a variable holds the URL.
    #[arg(long, value_name = "URL")]
    pub study: StudyUrl,
    /// End after so many seconds without work [default: wait for more].
    #[arg(long, value_name = "SECONDS", value_parser = not_negative)]
    pub idle: Option<f64>,
    /// Schedules that are taken at once, to be compiled ahead [default: 4 on a GPU, 1 in a replay].
    #[arg(long, value_name = "N")]
    pub ahead: Option<NonZeroUsize>,
    /// What each schedule must pass before it is measured.
    #[arg(long, value_name = "CHECK")]
    pub check: Option<Check>,
    /// Compile for workers with GPUs, which take what is compiled first; needs nvcc and a --cache that they share.
    #[arg(long, conflicts_with_all = ["gpus", "spaces", "check", "ahead"])]
    pub compile: bool,
    /// Where compiled kernels are kept, for machines to share [default: AUTOKERNEL_CACHE_DIR, or below --out].
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Where compiled kernels are kept that no other machine needs.
    #[arg(long, value_name = "DIR", default_value = folder::DEFAULT)]
    pub out: PathBuf,
    /// Replay the recorded spaces of this folder, GPU or not [default: the tuner's own, where no GPU can measure].
    #[arg(long, value_name = "DIR", conflicts_with = "gpus")]
    pub spaces: Option<PathBuf>,
    /// On which GPUs.
    #[command(flatten)]
    pub gpu: GpuArgs,
    /// Lets each replayed trial take this long, so that tests can interrupt it.
    #[arg(long, hide = true, value_name = "MS", default_value_t = 0)]
    pub replay_delay_ms: u64,
}

impl WorkArgs {
    /// By what this process is known in the study.
    pub fn name(&self) -> String {
        process_name()
    }

    /// How long it goes on without work.
    pub fn idle(&self) -> Option<Duration> {
        self.idle.map(|idle| Duration::try_from_secs_f64(idle).unwrap_or(Duration::MAX))
    }

    /// The folder of compiled kernels that machines share, if one is named. Absolute: nvcc runs in folders of its own.
    pub fn shared_cache(&self) -> Option<PathBuf> {
        let cache = self.cache.clone().or_else(folder::named_kernels)?;
        Some(std::path::absolute(&cache).unwrap_or(cache))
    }
}

/// By what a process is known in a study.
pub fn process_name() -> String {
    format!("{}:{}", gethostname::gethostname().to_string_lossy(), std::process::id())
}
