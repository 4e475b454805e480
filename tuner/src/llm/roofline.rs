//! The limit that the GPU sets for a shape, as the model is told of it.

use std::fmt;

use autokernel_core::Ms;
use serde::{Deserialize, Serialize};

/// The least time a shape can take on a GPU, by its roofline (Williams, Waterman, Patterson 2009).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RooflineFacts {
    /// Operations for each byte that must cross the memory bus, in FLOP/B.
    pub intensity_flops_per_byte: f64,
    /// The intensity at which the GPU's two limits meet, in FLOP/B.
    pub ridge_flops_per_byte: f64,
    /// The limit for this shape, in TFLOP/s.
    pub limit_tflops: f64,
    /// The same limit as a time, in ms: the longer of the next two.
    pub limit_ms: f64,
    /// The time of the arithmetic at the matrix units' ceiling, in ms.
    pub compute_ms: f64,
    /// The time of the least memory traffic at the memory's bandwidth, in ms.
    pub memory_ms: f64,
}

impl fmt::Display for RooflineFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RooflineFacts { intensity_flops_per_byte: intensity, ridge_flops_per_byte: ridge, .. } = self;
        let (side, bound) = if intensity < ridge { ("below", "memory") } else { ("above", "compute") };
        write!(f, "{intensity:.0} FLOP/B, {side} the GPU's ridge of {ridge:.0}: {bound} bound. ")?;
        write!(
            f,
            "The arithmetic alone takes {} at the matrix units' ceiling, the least memory traffic {}. ",
            Ms(self.compute_ms),
            Ms(self.memory_ms)
        )?;
        write!(f, "No schedule can be faster than {} ({:.1} TFLOP/s).", Ms(self.limit_ms), self.limit_tflops)
    }
}
