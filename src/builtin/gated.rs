//! Two products of the same matrix in one kernel.

#[cfg(feature = "swiglu")]
use crate::{Matrix, bf16};

/// A gated layer, `silu(x · gateᵀ) * (x · upᵀ)`: neither product is written to memory. Weights that are stacked or interleaved in one
/// tensor are two views of it.
#[cfg(feature = "swiglu")]
#[autokernel::fused_matmul]
pub fn swiglu(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = silu(dot(x, gate.t())) * dot(x, up.t());
}
