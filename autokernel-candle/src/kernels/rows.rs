//! Norms, softmax and gates, each a pass over memory.

#[cfg(feature = "norms")]
use autokernel::Row;
use autokernel::{Matrix, bf16, f16};

/// x / √(mean(x²) + eps) · weight
#[cfg(feature = "norms")]
#[autokernel::rows(T = [bf16, f16])]
pub fn rms_norm<T>(x: &Matrix<T>, weight: &Row<T>, eps: f32, out: &mut Matrix<T>) {
    out = x / (row_mean(x * x) + eps).sqrt() * weight;
}

/// x + skip, and the RMS norm of that: the step between two blocks of a transformer.
#[cfg(feature = "norms")]
#[autokernel::rows(T = [bf16, f16])]
pub fn add_rms_norm<T>(
    x: &Matrix<T>,
    skip: &Matrix<T>,
    weight: &Row<T>,
    eps: f32,
    sum: &mut Matrix<T>,
    out: &mut Matrix<T>,
) {
    let y = x + skip;
    sum = y;
    out = y / (row_mean(y * y) + eps).sqrt() * weight;
}

/// (x − mean(x)) / √(var(x) + eps) · weight + bias
#[cfg(feature = "norms")]
#[autokernel::rows(T = [bf16, f16])]
pub fn layer_norm<T>(x: &Matrix<T>, weight: &Row<T>, bias: &Row<T>, eps: f32, out: &mut Matrix<T>) {
    let centred = x - row_mean(x);
    out = centred / (row_mean(centred * centred) + eps).sqrt() * weight + bias;
}

/// Softmax along each row.
#[cfg(feature = "norms")]
#[autokernel::rows(T = [bf16, f16])]
pub fn softmax<T>(x: &Matrix<T>, out: &mut Matrix<T>) {
    let e = (x - row_max(x)).exp();
    out = e / row_sum(e);
}

/// silu(gate) · up
#[cfg(feature = "swiglu")]
#[autokernel::rows(T = [bf16, f16])]
pub fn silu_mul<T>(gate: &Matrix<T>, up: &Matrix<T>, out: &mut Matrix<T>) {
    out = silu(gate) * up;
}
