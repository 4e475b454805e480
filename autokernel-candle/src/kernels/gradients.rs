//! What flows back through the kernels of rows. `dy` is the gradient of what they gave.

use autokernel::{Column, Matrix, Row, bf16, f16};

/// Of [`rms_norm`](super::rows::rms_norm) towards `x`, and 1 / √(mean(x²) + eps) of each row for [`of_rms_weight`].
#[autokernel::rows(T = [bf16, f16])]
pub fn of_rms_norm<T>(
    x: &Matrix<T>,
    weight: &Row<T>,
    dy: &Matrix<T>,
    eps: f32,
    dx: &mut Matrix<T>,
    inverse: &mut Column<f32>,
) {
    let r = 1.0 / (row_mean(x * x) + eps).sqrt();
    let g = dy * weight;
    inverse = r;
    dx = r * (g - x * r * r * row_mean(g * x));
}

/// Of [`rms_norm`](super::rows::rms_norm) towards its weight.
#[autokernel::rows(T = [bf16, f16])]
pub fn of_rms_weight<T>(x: &Matrix<T>, dy: &Matrix<T>, inverse: &Column<f32>, dw: &mut Row<T>) {
    dw = column_sum(dy * x * inverse);
}

/// Of [`softmax`](super::rows::softmax), whose result is `y`.
#[autokernel::rows(T = [bf16, f16])]
pub fn of_softmax<T>(y: &Matrix<T>, dy: &Matrix<T>, dx: &mut Matrix<T>) {
    dx = y * (dy - row_sum(dy * y));
}

/// Of [`silu_mul`](super::rows::silu_mul) towards both of its factors.
#[autokernel::rows(T = [bf16, f16])]
pub fn of_silu_mul<T>(gate: &Matrix<T>, up: &Matrix<T>, dy: &Matrix<T>, dgate: &mut Matrix<T>, dup: &mut Matrix<T>) {
    let s = sigmoid(gate);
    dgate = dy * up * s * (1.0 + gate * (1.0 - s));
    dup = dy * gate * s;
}
