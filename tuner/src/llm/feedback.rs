//! What became of the model's proposals, and what is left to spend.

use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Occupancy, Placement};

use super::reply::Rejected;
use crate::known::Known;

use crate::outcome::{Failure, Measurement};

/// What may still be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Schedules that may still be measured, by whichever strategy.
    pub evaluations: u32,
    /// Rounds that the model may still have, the one being asked for included.
    pub rounds: u32,
    /// Schedules wanted in a round.
    pub proposals_per_round: u32,
}

/// A round's news for the model.
#[derive(Clone, Debug)]
pub struct Feedback {
    /// The fastest so far, fastest first; whoever proposed them.
    pub top: Vec<Tried>,
    /// What the task called known good, with what became of it; `None` if it was not tried.
    pub anchors: Vec<(Known, Option<Became>)>,
    /// What became of the schedules that the model proposed last.
    pub proposed: Vec<Tried>,
    /// Whatever else was tried, by whomever, so that it is not proposed again: what failed, then the others by time.
    pub others: Vec<Tried>,
    /// Proposals of the last reply that were never tried (see [`Proposals`](super::Proposals)).
    pub rejected: Vec<Rejected>,
    /// What is left.
    pub left: Left,
}

/// A schedule and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The schedule.
    pub schedule: Schedule,
    /// What became of it.
    pub became: Became,
}

/// What became of a schedule, in the figures that a model reasons with.
pub type Became = Result<Figures, Failure>;

/// A time, and what explains it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The time.
    pub measurement: Measurement,
    /// Throughput at the median, in TFLOP/s.
    pub tflops: f64,
    /// Of the roofline's limit, in percent, where that is known.
    pub roofline_pct: Option<f64>,
    /// Times cuBLAS's throughput, if cuBLAS was measured beside it.
    pub times_cublas: Option<f64>,
    /// What the kernel takes of an SM.
    pub resources: Resources,
    /// How its tiles fall on the SMs, if known.
    pub placement: Option<Placement>,
}

/// What a compiled kernel takes of an SM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resources {
    /// Registers of a thread, if it was compiled here.
    pub registers: Option<u32>,
    /// Shared memory of a block, static and dynamic, in bytes.
    pub shared_bytes: u32,
    /// Spilled bytes of a thread.
    pub spill_bytes: u32,
    /// How many blocks an SM holds, if the registers are known.
    pub occupancy: Option<Occupancy>,
}
