//! The time of a launch before it is made: what a room's model gives, and the GPU that it is told of.

use std::fmt;

use autokernel_core::{ComputeCapability, Extents};

/// A GPU, as far as a prediction depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Its generation, which says what its instructions reach.
    pub capability: ComputeCapability,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// The matrix units' datasheet rate for the problem's input type, dense, in TFLOP/s.
    pub matrix_tflops: f64,
    /// The memory's datasheet bandwidth, in GB/s.
    pub memory_gb_per_s: f64,
}

/// Predicts the launches of one image on one GPU.
pub trait Forecast: fmt::Debug + Send + Sync {
    /// The time of a launch after a rest by the schedule as it is, in milliseconds; of knobs that cost its image nothing the best are taken.
    fn predicted_ms(&self, extents: &Extents) -> f64;

    /// The same by its image with [`launch_knobs`](Self::launch_knobs).
    fn launched_ms(&self, extents: &Extents) -> f64 {
        self.predicted_ms(extents)
    }

    /// The time of a launch that takes `rested_ms` after a rest, where launches like it go on before and behind it.
    fn sustained_ms(&self, _extents: &Extents, rested_ms: f64) -> f64 {
        rested_ms
    }

    /// The time by which a launch chooses among images, in milliseconds: under a load that lasts, by an image that was seen to take
    /// `measured_over_predicted` of what is predicted.
    fn expected_ms(&self, extents: &Extents, measured_over_predicted: f64) -> f64 {
        self.sustained_ms(extents, measured_over_predicted * self.launched_ms(extents))
    }

    /// The knobs that are set at launch, with the values that serve those extents.
    fn launch_knobs(&self, _extents: &Extents) -> Vec<(&'static str, i32)> {
        Vec::new()
    }
}
