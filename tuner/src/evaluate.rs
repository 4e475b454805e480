//! The seam between a search and whatever measures.

use std::ops::ControlFlow;

use autokernel_codegen::schedule::Schedule;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::gpu_facts::GpuFacts;
use crate::intents::Intents;
use crate::outcome::{Failure, Measurement, Outcome};
use crate::target::Target;

/// Measures schedules: on a GPU, or out of a recording.
///
/// A schedule that cannot be used is an [`Outcome`], never an error: errors are for evaluators that cannot go on.
pub trait Evaluator {
    /// Where and on what it measures.
    fn about(&self) -> &About;

    /// Where its numbers come from, in words for people: `measured here`, `replayed from …`.
    fn origin(&self) -> String;

    /// The schedules that a search for `target` is to choose from, each once, in a fixed order.
    fn space(&self, target: &Target) -> Vec<Schedule>;

    /// Tries each schedule of `batch` and calls `done` as soon as its outcome is known, in any order, so that an
    /// evaluator may compile ahead and use several GPUs. Once `done` breaks, no further schedule is begun; it
    /// is still told of those that were under way. An evaluator that runs schedules tells `intents` before it does.
    ///
    /// # Errors
    /// The evaluator cannot go on, whatever the schedule. What `done` was told stays valid.
    fn evaluate(
        &mut self,
        target: &Target,
        batch: &[Schedule],
        intents: Option<&Intents>,
        done: Done<'_>,
    ) -> Result<(), EvaluatorError>;

    /// Measures `contenders` again, in turn within each of the `rounds` so that drift cancels: one result for each. An
    /// evaluator that does not measure has no rounds to hold.
    ///
    /// # Errors
    /// The evaluator cannot go on.
    fn compare(
        &mut self,
        target: &Target,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<Final>, EvaluatorError>;

    /// The time of cuBLAS with the epilogue as a kernel of its own, timed as a schedule is; `None` where it cannot be had.
    ///
    /// # Errors
    /// The evaluator cannot go on.
    fn reference(&mut self, target: &Target) -> Result<Option<Measurement>, EvaluatorError>;

    /// What is known of the whole space of `target`, where all of it was measured before.
    fn hindsight(&self, _target: &Target) -> Option<&dyn Hindsight> {
        None
    }
}

/// Where and on what an evaluator measures.
#[derive(Clone, Debug)]
pub struct About {
    /// Where.
    pub environment: Environment,
    /// On which GPU.
    pub gpu: GpuFacts,
    /// The day of its measurements, `YYYY-MM-DD`, if they are not of today.
    pub recorded_on: Option<String>,
    /// What it can measure.
    pub measurable: Measurable,
}

impl About {
    /// Whether its numbers were measured before, so that schedules known from the same numbers give the answer away.
    pub fn is_replay(&self) -> bool {
        self.recorded_on.is_some()
    }
}

/// What only those know who have measured a whole space.
pub trait Hindsight {
    /// The fastest schedule of all.
    fn optimum(&self) -> Option<(Schedule, Measurement)>;

    /// The median of the best time of so many schedules drawn at random, in milliseconds.
    fn best_at_random_ms(&self, draws: usize) -> Option<f64>;
}

/// Which schedules an evaluator can measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurable {
    /// Those of its space alone: nothing else was recorded.
    Space,
    /// Every schedule that keeps the rules; the space is a selection of them.
    Legal,
}

/// Is told each outcome of a batch.
pub type Done<'d> = &'d mut dyn FnMut(Evaluated) -> ControlFlow<()>;

/// The outcome of one schedule of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// The schedule.
    pub schedule: Schedule,
    /// What became of it.
    pub outcome: Outcome,
    /// What it took, in seconds.
    pub seconds: f64,
}

/// How long contenders meet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// How many rounds count.
    pub count: u32,
    /// How long each contender runs in one, in milliseconds.
    pub round_ms: f64,
    /// How long rounds are run before, in milliseconds.
    pub warm_up_ms: f64,
}

/// Who meets in a final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contender {
    /// A schedule.
    Schedule(Schedule),
    /// cuBLAS with the epilogue as a kernel of its own.
    Cublas,
}

/// How a contender fared in a final.
pub type Final = Result<FinalTime, Failure>;

/// A contender's time in a final.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinalTime {
    /// Its time over all rounds.
    pub measurement: Measurement,
    /// Its time in each round, in milliseconds; empty if the rounds were not interleaved, as in a replay.
    #[serde(default)]
    pub round_ms: Vec<f64>,
}

/// Why an evaluator cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub struct EvaluatorError {
    /// What happened.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

impl EvaluatorError {
    /// A thread of the tuner panicked; it has said where.
    pub(crate) fn panicked() -> Self {
        EvaluatorError {
            reason: "a thread of the tuner panicked".to_owned(),
            remedy: "please report this; what was measured is kept".to_owned(),
        }
    }
}
