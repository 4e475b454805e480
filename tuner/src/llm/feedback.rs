//! What became of the model's proposals, and what is left to spend.

use std::time::Duration;

use autokernel_codegen::schedule::Schedule;
use serde::{Deserialize, Serialize};

use super::reply::Rejected;
use crate::occupancy::{Occupancy, Waves};

/// What may still be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Schedules that may still be measured, by whichever strategy.
    pub evaluations: u32,
    /// Rounds that the model may still have, the one being asked for included.
    pub rounds: u32,
    /// Schedules wanted in a round.
    pub proposals_per_round: u32,
    /// Time left, where it is limited.
    pub time: Option<Duration>,
}

/// A round's news for the model.
#[derive(Clone, Debug)]
pub struct Feedback {
    /// The fastest so far, fastest first; whoever proposed them.
    pub top: Vec<Trial>,
    /// What the task called known good, with what became of it.
    pub anchors: Vec<Anchor>,
    /// What became of the schedules that the model proposed last.
    pub proposed: Vec<Trial>,
    /// Whatever else was tried, by whomever, so that it is not proposed again: what failed, then the others by time.
    pub others: Vec<Trial>,
    /// Proposals of the last reply that were never tried (see [`Proposals`](super::Proposals)).
    pub rejected: Vec<Rejected>,
    /// What is left.
    pub budget: Budget,
}

/// A schedule that was known before, and what became of it here.
#[derive(Clone, Debug, PartialEq)]
pub struct Anchor {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from.
    pub origin: String,
    /// What became of it; `None` if it was not tried.
    pub outcome: Option<Outcome>,
}

/// A schedule and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The schedule.
    pub schedule: Schedule,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
#[non_exhaustive]
pub enum Outcome {
    /// It computes the right result, in this time.
    Measured(Measurement),
    /// It breaks a rule of its family.
    RuleBroken {
        /// The rule's name.
        rule: String,
        /// The numbers that break it.
        reason: String,
    },
    /// nvcc or ptxas refused it, or it spills.
    CompileFailed {
        /// What the compiler said.
        text: String,
    },
    /// It computes something else.
    WrongResult {
        /// How wrong, and where.
        detail: String,
    },
    /// It did not finish.
    TimedOut {
        /// What was under way: `compile` or `run`.
        phase: String,
        /// The limit, in seconds.
        limit_s: f64,
    },
    /// The launch failed, or the worker died of it.
    Crashed {
        /// The CUDA error, the signal, or both.
        detail: String,
    },
    /// It was not tried, for a reason that is not its own.
    Unavailable {
        /// Why.
        reason: String,
    },
    /// It had been tried before.
    Duplicate {
        /// Its time then, in ms, if it had one.
        median_ms: Option<f64>,
    },
}

/// How fast a schedule is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Median time of a launch, in ms.
    pub median_ms: f64,
    /// Spread of the samples around the median, in percent.
    pub spread_pct: f64,
    /// Throughput at the median, in TFLOP/s.
    pub tflops: f64,
    /// Of the roofline's limit, in percent.
    pub roofline_pct: f64,
    /// Times cuBLAS's throughput, if cuBLAS was measured beside it.
    #[serde(default)]
    pub times_cublas: Option<f64>,
    /// What the kernel takes, if known.
    #[serde(default)]
    pub resources: Option<Resources>,
    /// How its tiles fall on the SMs, if known.
    #[serde(default)]
    pub waves: Option<Waves>,
}

/// What a compiled kernel takes of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Registers of a thread, if it was compiled here.
    pub registers: Option<u32>,
    /// Shared memory of a block, static and dynamic, in bytes.
    pub shared_bytes: u32,
    /// Spilled bytes of a thread.
    pub spill_bytes: u32,
    /// How many blocks an SM holds, if the registers are known.
    #[serde(default)]
    pub occupancy: Option<Occupancy>,
}
