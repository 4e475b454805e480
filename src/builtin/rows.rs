//! Row-wise kernels in bf16, whose arithmetic is `f32`.

#![allow(unused_imports, reason = "each kernel has a feature")]

use crate::{Column, Matrix, Row, bf16};

/// Softmax along each row.
#[cfg(feature = "softmax")]
#[autokernel::rows]
pub fn softmax(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let e = (x - row_max(x)).exp();
    out = e / row_sum(e);
}

/// The logarithm of the softmax along each row.
#[cfg(feature = "log_softmax")]
#[autokernel::rows]
pub fn log_softmax(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let shifted = x - row_max(x);
    out = shifted - row_sum(shifted.exp()).ln();
}

/// Each row over the root of its mean square, times a weight.
#[cfg(feature = "rms_norm")]
#[autokernel::rows]
pub fn rms_norm(x: &Matrix<bf16>, weight: &Row<bf16>, eps: f32, out: &mut Matrix<bf16>) {
    out = x / (row_mean(x * x) + eps).sqrt() * weight;
}

/// The sum of two matrices, and [`rms_norm`](fn@rms_norm) of it: the step between two blocks of a transformer.
#[cfg(feature = "add_rms_norm")]
#[autokernel::rows]
pub fn add_rms_norm(
    x: &Matrix<bf16>,
    skip: &Matrix<bf16>,
    weight: &Row<bf16>,
    eps: f32,
    sum: &mut Matrix<bf16>,
    out: &mut Matrix<bf16>,
) {
    let y = x + skip;
    sum = y;
    out = y / (row_mean(y * y) + eps).sqrt() * weight;
}

/// Each row, less its mean, over its standard deviation, times a weight, plus a bias.
#[cfg(feature = "layer_norm")]
#[autokernel::rows]
pub fn layer_norm(x: &Matrix<bf16>, weight: &Row<bf16>, bias: &Row<bf16>, eps: f32, out: &mut Matrix<bf16>) {
    let centred = x - row_mean(x);
    out = centred / (row_mean(centred * centred) + eps).sqrt() * weight + bias;
}

/// SiLU of one matrix times another: the gate of a SwiGLU layer.
#[cfg(feature = "silu_mul")]
#[autokernel::rows]
pub fn silu_mul(gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = gate / (1.0 + (-gate).exp()) * up;
}

/// GELU in the erf form.
#[cfg(feature = "gelu")]
#[autokernel::rows]
pub fn gelu(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    const SQRT_HALF: f32 = 0.707_106_77;
    out = 0.5 * x * (1.0 + erf(SQRT_HALF * x));
}

/// The logarithm of the sum of each row's exponentials: what a cross-entropy needs of its logits, beside the one that is
/// right.
#[cfg(feature = "log_sum_exp")]
#[autokernel::rows]
pub fn log_sum_exp(x: &Matrix<bf16>, out: &mut Column<f32>) {
    let greatest = row_max(x);
    out = greatest + row_sum((x - greatest).exp()).ln();
}

/// The sum of each row.
#[cfg(feature = "row_sum")]
#[autokernel::rows]
pub fn row_sum(x: &Matrix<bf16>, out: &mut Column<f32>) {
    out = row_sum(x);
}

/// The greatest element of each row; NaNs are passed over.
#[cfg(feature = "row_max")]
#[autokernel::rows]
pub fn row_max(x: &Matrix<bf16>, out: &mut Column<f32>) {
    out = row_max(x);
}
