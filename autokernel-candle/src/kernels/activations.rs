//! Products with a bias and an activation.

use autokernel::{Matrix, Row, bf16, f16};

/// The tanh form of GELU of x · wᵀ + bias, which candle calls `gelu`.
#[autokernel::fused_matmul(T = [bf16, f16])]
pub fn linear_gelu<T>(x: &Matrix<T>, w: &Matrix<T>, bias: &Row<T>, out: &mut Matrix<T>) {
    out = gelu_tanh(dot(x, w.t()) + bias);
}

/// GELU of x · wᵀ + bias, which candle calls `gelu_erf`.
#[autokernel::fused_matmul(T = [bf16, f16])]
pub fn linear_gelu_erf<T>(x: &Matrix<T>, w: &Matrix<T>, bias: &Row<T>, out: &mut Matrix<T>) {
    out = gelu(dot(x, w.t()) + bias);
}

/// SiLU of x · wᵀ + bias.
#[autokernel::fused_matmul(T = [bf16, f16])]
pub fn linear_silu<T>(x: &Matrix<T>, w: &Matrix<T>, bias: &Row<T>, out: &mut Matrix<T>) {
    out = silu(dot(x, w.t()) + bias);
}

/// ReLU of x · wᵀ + bias.
#[autokernel::fused_matmul(T = [bf16, f16])]
pub fn linear_relu<T>(x: &Matrix<T>, w: &Matrix<T>, bias: &Row<T>, out: &mut Matrix<T>) {
    out = relu(dot(x, w.t()) + bias);
}
