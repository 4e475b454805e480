//! Products with weights, and what follows them.

#[cfg(feature = "linear")]
use autokernel::Row;
use autokernel::{Matrix, bf16, f16};

/// x · wᵀ
#[cfg(feature = "linear")]
#[autokernel::matmul(T = [bf16, f16], transpose_b)]
pub fn linear<T>(x: &Matrix<T>, w: &Matrix<T>, out: &mut Matrix<T>);

/// x · wᵀ + bias
#[cfg(feature = "linear")]
#[autokernel::fused_matmul(T = [bf16, f16])]
pub fn linear_bias<T>(x: &Matrix<T>, w: &Matrix<T>, bias: &Row<T>, out: &mut Matrix<T>) {
    out = dot(x, w.t()) + bias;
}

/// silu(x · gateᵀ) · (x · upᵀ), neither of which is written to memory.
#[cfg(feature = "swiglu")]
#[autokernel::fused_matmul(T = [bf16, f16])]
pub fn swiglu<T>(x: &Matrix<T>, gate: &Matrix<T>, up: &Matrix<T>, out: &mut Matrix<T>) {
    out = silu(dot(x, gate.t())) * dot(x, up.t());
}
