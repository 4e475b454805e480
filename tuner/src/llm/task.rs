//! What the model is asked to do.

use autokernel_codegen::problem::Problem;
use autokernel_core::Extents;

use super::candidates::Candidates;
use super::feedback::Left;
use super::roofline::RooflineFacts;
use crate::gpu_facts::GpuFacts;
use crate::group_sizes::GroupSizes;
use crate::known::Known;

/// One problem and shape on one GPU, the schedules that may be tried, and what is known before the first round.
#[derive(Clone, Debug)]
pub struct Task {
    /// What is computed.
    pub problem: Problem,
    /// The sizes it is tuned for.
    pub shape: Extents,
    /// How large the groups are on which schedules are timed, where the problem has such.
    pub group_sizes: GroupSizes,
    /// The GPU.
    pub gpu: GpuFacts,
    /// What the GPU allows for this shape.
    pub roofline: Option<RooflineFacts>,
    /// The time of cuBLAS with the epilogue as a kernel of its own, in ms, if it was measured.
    pub cublas_ms: Option<f64>,
    /// The schedules that may be proposed.
    pub candidates: Candidates,
    /// Schedules with a record: the safe default, tuned neighbours.
    pub known_good: Vec<Known>,
    /// What may be spent.
    pub left: Left,
}
