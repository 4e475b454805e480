//! Products whose gradients are derived from their bodies: the layers of a perceptron, and what else has gradients.

use autokernel::{AnyKernel, Column, Matrix, Row, bf16, f16};

/// A layer with its activation.
#[autokernel::fused_matmul(backward)]
pub fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<f32>, h: &mut Matrix<bf16>) {
    h = gelu_tanh(dot(x, w.t()) + bias);
}

/// A linear layer, through which gradients go as they are.
#[autokernel::fused_matmul(backward)]
pub fn down(h: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<f32>, skip: &Matrix<bf16>, y: &mut Matrix<bf16>) {
    y = dot(h, w.t()) + bias + skip;
}

/// Nearly `x` where that is small, and never beyond `limit`.
#[autokernel::function]
pub fn capped(x: f32, limit: f32) -> f32 {
    limit * (x / limit).tanh()
}

/// Gradients of a column and of a residual beside that of the product, a function of this crate, and an output of another type.
#[autokernel::fused_matmul(backward(r#in, w, scale, skip))]
pub fn steep(
    r#in: &Matrix<f16>,
    w: &Matrix<f16>,
    scale: &Column<f32>,
    skip: &Matrix<f16>,
    limit: f32,
    y: &mut Matrix<f32>,
) {
    let s = dot(r#in, w);
    y = capped(s * scale, limit) * skip;
}

/// The products above, and those that are derived from them, by their names.
pub fn products() -> [(&'static str, &'static AnyKernel); 13] {
    [
        ("up", &up::KERNEL),
        ("down", &down::KERNEL),
        ("steep", &steep::KERNEL),
        ("up::forward", &up::forward::KERNEL),
        ("up::backward_fused", &up::backward_fused::KERNEL),
        ("up::backward_x", &up::backward_x::KERNEL),
        ("up::backward_w", &up::backward_w::KERNEL),
        ("down::backward_h", &down::backward_h::KERNEL),
        ("down::backward_w", &down::backward_w::KERNEL),
        ("steep::forward", &steep::forward::KERNEL),
        ("steep::backward_fused", &steep::backward_fused::KERNEL),
        ("steep::backward_in", &steep::backward_in::KERNEL),
        ("steep::backward_w", &steep::backward_w::KERNEL),
    ]
}

/// The row-wise kernels that are derived from those above, by their names.
pub fn derived_rows() -> [(&'static str, &'static AnyKernel); 4] {
    [
        ("up::backward", &up::backward::KERNEL),
        ("up::backward_rows", &up::backward_rows::KERNEL),
        ("down::backward_rows", &down::backward_rows::KERNEL),
        ("steep::backward", &steep::backward::KERNEL),
    ]
}
