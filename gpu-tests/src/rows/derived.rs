//! Kernels that are derived from a body: those of its gradients, declared by `backward` as a user declares them.

use autokernel::{AnyKernel, Column, Matrix, Row, bf16, f16};

/// The maximum changes nothing, and costs the gradient nothing.
#[autokernel::rows(backward, T = [bf16, f32])]
pub fn softened<T>(x: &Matrix<T>, y: &mut Matrix<T>) {
    let e = (x - row_max(x)).exp();
    y = e / row_sum(e);
}

/// A norm, whose weight and bias have gradients of their own kernel.
#[autokernel::rows(backward)]
pub fn normalised(x: &Matrix<bf16>, weight: &Row<f32>, bias: &Row<bf16>, eps: f32, y: &mut Matrix<bf16>) {
    let mean = row_mean(x);
    let centred = x - mean;
    let deviation = (row_mean(centred * centred) + eps).sqrt();
    y = centred / deviation * weight + bias;
}

/// Nearly `x` where that is small, and never beyond `limit`.
#[autokernel::function]
pub fn squashed(x: f32, limit: f32) -> f32 {
    limit * (x / limit).tanh()
}

/// Activations, a function of this crate, and the gradient of a column, which is a sum along rows.
#[autokernel::rows(backward(gate, r#in, scale))]
pub fn activated(
    gate: &Matrix<f16>,
    r#in: &Matrix<f32>,
    scale: &Column<f32>,
    offset: &Matrix<f32>,
    y: &mut Matrix<f16>,
    most: &mut Column<f32>,
) {
    let up = squashed(r#in, 4.0) * scale;
    y = silu(gate) * up + gelu(gate - offset);
    most = row_max(up.max(0.25 * gate));
}

/// The kernels above and those that are derived from them, by their names.
pub fn derived() -> [(&'static str, &'static AnyKernel); 9] {
    [
        ("softened<bf16>", softened::kernel::<bf16>()),
        ("softened<f32>", softened::kernel::<f32>()),
        ("normalised", &normalised::KERNEL),
        ("activated", &activated::KERNEL),
        ("softened::backward<bf16>", softened::backward::kernel::<bf16>()),
        ("softened::backward<f32>", softened::backward::kernel::<f32>()),
        ("normalised::backward", &normalised::backward::KERNEL),
        ("normalised::backward_rows", &normalised::backward_rows::KERNEL),
        ("activated::backward", &activated::backward::KERNEL),
    ]
}
