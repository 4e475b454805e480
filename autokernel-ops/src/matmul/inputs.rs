//! What the matrix units multiply.

use autokernel_core::Dtype;

/// The types that the matrix units multiply: those of `A` and `B`. Accumulation is always in `f32`.
pub const INPUTS: [Dtype; 2] = [Dtype::Bf16, Dtype::F16];
