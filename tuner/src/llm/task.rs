//! What the model is asked to do.

use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::shape::Shape;

use super::candidates::Candidates;
use super::feedback::Budget;
use super::roofline::RooflineFacts;
use crate::gpu_facts::GpuFacts;

/// One problem and shape on one GPU, the schedules that may be tried, and what is known before the first round.
#[derive(Clone, Debug)]
pub struct Task {
    /// What is computed.
    pub problem: Problem,
    /// The sizes it is tuned for.
    pub shape: Shape,
    /// The GPU.
    pub gpu: GpuFacts,
    /// What the GPU allows for this shape.
    pub roofline: RooflineFacts,
    /// The time of cuBLAS with the epilogue as a kernel of its own, in ms, if it was measured.
    pub cublas_ms: Option<f64>,
    /// The schedules that may be proposed.
    pub candidates: Candidates,
    /// Schedules with a record: the safe default, tuned neighbours.
    pub known_good: Vec<KnownGood>,
    /// What may be spent.
    pub budget: Budget,
}

/// A schedule with a record.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownGood {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from: `default for sm_90a`, `tuned for 8192x8192x8192, 1.6947 ms there`.
    pub origin: String,
    /// Its median time for the task's shape, in ms, if it was measured.
    pub median_ms: Option<f64>,
}
