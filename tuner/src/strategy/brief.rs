//! What a strategy knows before the first trial.

use std::sync::Arc;

use autokernel_codegen::schedule::Schedule;

use crate::llm::GpuFacts;
use crate::target::Target;
use crate::trial::Trial;

/// What a strategy knows before the first trial.
#[derive(Clone, Debug)]
pub struct Brief {
    /// What is tuned.
    pub target: Target,
    /// On which GPU.
    pub gpu: GpuFacts,
    /// The schedules that may be tried.
    pub space: Arc<[Schedule]>,
    /// Schedules with a record, most promising first; all of them in the space.
    pub known: Vec<Known>,
    /// What was measured before this search, oldest first: other searches' trials of the target, and those of its
    /// neighbours, which are the same problem class at other shapes.
    pub history: Vec<Trial>,
    /// Schedules that may be tried in all.
    pub evaluations: usize,
    /// Generations these are divided into.
    pub generations: usize,
    /// Decides every random choice.
    pub seed: u64,
}

/// A schedule with a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from: `default for sm_90a`, `tuned for 8192x8192x8192, 1.6947 ms there`.
    pub origin: String,
}
