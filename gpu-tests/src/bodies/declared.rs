//! Products with bodies as a user declares them: every kind of operand, types that differ, several outputs, and what else the
//! language of bodies has.

use autokernel::{AnyKernel, Column, Device, Error, Matrix, Row, Scalar, bf16, e4m3, e5m2, f16, matmul};
use autokernel_codegen::problem;
use autokernel_codegen::product::Problem;

use super::derived;
use crate::shapes;

/// A linear layer's bias and activation.
#[autokernel::fused_matmul]
pub fn bias_gelu(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, out: &mut Matrix<bf16>) {
    out = gelu_tanh(dot(x, w.t()) + bias);
}

/// With a residual behind them.
#[autokernel::fused_matmul]
pub fn residual(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = gelu(dot(x, w.t()) + bias) + skip;
}

/// A scale a row, a scalar of the launch, two outputs of two types.
#[autokernel::fused_matmul(n = 136)]
pub fn scaled(
    x: &Matrix<f16>,
    w: &Matrix<f16>,
    row_scale: &Column<f32>,
    alpha: f32,
    pre: &mut Matrix<f16>,
    out: &mut Matrix<f32>,
) {
    let y = alpha * row_scale * dot(x, w);
    pre = y;
    out = if y > 0.0 { y } else { 0.2 * y };
}

/// Operands in fp32, into fp32.
#[autokernel::fused_matmul]
pub fn wide(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    gate: &Matrix<f32>,
    shift: &Row<f32>,
    out: &mut Matrix<f32>,
    gated: &mut Matrix<f32>,
) {
    let y = dot(x, w.t());
    out = y;
    gated = (y + shift) * sigmoid(gate);
}

/// Parameters in any order, the output first, under names that are others' elsewhere.
#[autokernel::fused_matmul]
pub fn shuffled(
    c: &mut Matrix<bf16>,
    float: f32,
    b: &Matrix<f16>,
    args: &Column<bf16>,
    a: &Matrix<f16>,
    r#in: &Matrix<bf16>,
) {
    c = leaky_relu(dot(a, b.t()) * float, 0.2) - r#in * args;
}

/// Constants, names that hide others, blocks, branches and functions.
#[autokernel::fused_matmul]
pub fn language(x: &Matrix<bf16>, w: &Matrix<bf16>, limit: &Row<f16>, count: &mut Matrix<f32>, out: &mut Matrix<f16>) {
    const HALF: f32 = 0.5;
    let limit = limit.abs() + 0.25;
    let y = dot(x, w) * HALF;
    let y = {
        let limit = limit * 2.0;
        if y > limit || !(y >= -0.5) { limit } else { y.max(-limit).mul_add(2.0, limit.tanh()) }
    };
    count = if y < 0.0 && limit > 0.5 { 1.0 } else { 0.0 };
    out = erf(y) + relu(y).min(1.0);
}

/// The product alone, into another 16-bit type, and beside it what was added.
#[autokernel::fused_matmul(k = 72)]
pub fn converted(x: &Matrix<f16>, w: &Matrix<f16>, sum: &mut Matrix<bf16>, shift: f32) {
    sum = dot(x, w.t()) + shift;
}

/// About twenty operations, and as many operands as fit.
#[autokernel::fused_matmul]
pub fn twenty(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    bias: &Row<f32>,
    scale: &Column<f32>,
    skip: &Matrix<bf16>,
    alpha: f32,
    pre: &mut Matrix<bf16>,
    out: &mut Matrix<bf16>,
) {
    let y = alpha * scale * dot(x, w.t()) + bias;
    pre = y;
    let gate = 1.0 / (1.0 + (-y).exp());
    let bent = if y > 0.0 { y } else { 0.2 * y };
    let mixed = gate * bent + (1.0 - gate) * skip;
    out = mixed.max(-6.0).min(6.0) + 0.5 * (y - skip).abs() + scale * skip * 0.125;
}

/// A gated layer: two products of one activation, declared by its types.
#[autokernel::fused_matmul(T = [bf16], O = [bf16])]
pub fn swiglu<T, O>(x: &Matrix<T>, gate: &Matrix<T>, up: &Matrix<T>, out: &mut Matrix<O>) {
    out = silu(dot(x, gate.t())) * dot(x, up.t());
}

/// Two products of row-major weights with a bias each, under names, the second one first, and what backward needs beside.
#[autokernel::fused_matmul]
pub fn geglu(
    up: &Matrix<f16>,
    x: &Matrix<f16>,
    gate: &Matrix<f16>,
    up_bias: &Row<f32>,
    gate_bias: &Row<f16>,
    scale: &Column<f32>,
    pre: &mut Matrix<f32>,
    out: &mut Matrix<f16>,
) {
    let raised = dot(x, up) + up_bias;
    let gated = dot(x, gate) + gate_bias;
    pre = gated;
    out = gelu_tanh(gated) * raised * scale + 0.125 * dot(x, up);
}

/// The gradient of a weight: what it was multiplied with, transposed where it lies.
#[autokernel::fused_matmul]
pub fn weight_gradient(dy: &Matrix<bf16>, x: &Matrix<bf16>, scale: f32, dw: &mut Matrix<f32>) {
    dw = scale * dot(dy.t(), x);
}

/// What reaches the input of a layer's activation: the gradient behind it, times the activation's slope.
#[autokernel::fused_matmul]
pub fn activation_gradient(dy: &Matrix<bf16>, w: &Matrix<bf16>, z: &Matrix<bf16>, dz: &mut Matrix<bf16>) {
    dz = dot(dy, w) * gelu_tanh_derivative(z);
}

/// Both factors stored transposed.
#[autokernel::fused_matmul]
pub fn both_transposed(a: &Matrix<f16>, b: &Matrix<f16>, bias: &Row<f32>, out: &mut Matrix<f16>) {
    out = relu(dot(a.t(), b.t()) + bias);
}

/// What a norm behind the product asks for, and a row's greatest and least element, of two products' difference with a bias.
#[autokernel::fused_matmul]
pub fn reduced(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    v: &Matrix<bf16>,
    bias: &Row<f32>,
    scale: &mut Column<f32>,
    out: &mut Matrix<bf16>,
    spread: &mut Column<f16>,
) {
    let y = dot(x, w.t()) - dot(x, v.t()) + bias;
    out = y;
    scale = 1.0 / (row_mean(y * y) + 1e-6).sqrt();
    spread = row_max(y) - row_min(y);
}

/// The sum of a row beside its elements, scaled by a column.
#[autokernel::fused_matmul]
pub fn summed(x: &Matrix<f16>, w: &Matrix<f16>, scale: &Column<f32>, out: &mut Matrix<f32>, sums: &mut Column<f32>) {
    let y = dot(x, w);
    out = y;
    sums = scale * row_sum(y.abs()) + row_index();
}

/// The head of a language model: cross entropy of logits that are written nowhere.
#[autokernel::fused_matmul]
pub fn cross_entropy(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    bias: &Row<bf16>,
    target: &Column<f32>,
    loss: &mut Column<f32>,
    largest: &mut Column<f16>,
) {
    let y = dot(x, w.t()) + bias;
    let most = row_max(y);
    let chosen = row_sum(if column_index() == target { y } else { 0.0 });
    largest = most;
    loss = most + row_sum((y - most).exp()).ln() - chosen;
}

/// Elements beside exponentials relative to two maxima, the mean of some and the sum of others.
#[autokernel::fused_matmul]
pub fn exponentials(
    x: &Matrix<f16>,
    w: &Matrix<f16>,
    v: &Matrix<f16>,
    out: &mut Matrix<bf16>,
    mean: &mut Column<f32>,
    sum: &mut Column<f32>,
) {
    let y = dot(x, w);
    let z = dot(x, v);
    out = y - z;
    let e = (y - row_max(y)).exp();
    mean = row_mean(e) * row_min(z);
    sum = row_sum((4.0 * z - row_max(4.0 * z)).exp());
}

/// A result that lies transposed, with what is of its rows and of its columns, and where its elements stand.
#[autokernel::fused_matmul]
pub fn lying_transposed(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    bias: &Row<f32>,
    scale: &Column<f16>,
    skip: &Matrix<bf16>,
    out: &mut Matrix<f32>,
    narrow: &mut Matrix<bf16>,
) {
    let y = scale * dot(x, w.t()) + bias;
    let slope = if column_index() < row_index() { 0.5 } else { 1.0 };
    out.t() = slope * y + skip.t() + rows() - 0.5 * columns();
    narrow.t() = gelu_tanh(y);
}

/// Elements and a row's variance by how many rows and columns there are.
#[autokernel::fused_matmul]
pub fn counted(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<f32>, variance: &mut Column<f32>) {
    let y = dot(a, b.t());
    out = y / columns() + rows();
    variance = (row_sum(y * y) - row_sum(y) * row_mean(y)) / (columns() - 1.0).max(1.0) + rows();
}

/// A band beside the diagonal, as wide as a number in memory says, and where the elements outside of it stand.
#[autokernel::fused_matmul]
pub fn band(a: &Matrix<bf16>, b: &Matrix<bf16>, width: &Scalar<f32>, out: &mut Matrix<f32>) {
    let apart = (row_index() - column_index()).abs();
    let product = dot(a, b.t());
    out = if apart <= width.abs() { product } else { 1000.0 * row_index() + column_index() };
}

/// 8-bit floats with a scale a row, one a column and one of the launch.
#[autokernel::fused_matmul]
pub fn fp8_scaled(
    x: &Matrix<e4m3>,
    w: &Matrix<e4m3>,
    scale_x: &Column<f32>,
    scale_w: &Row<f32>,
    scale: f32,
    out: &mut Matrix<bf16>,
) {
    out = dot(x, w.t()) * scale_x * scale_w * scale;
}

/// Two products of 8-bit floats.
#[autokernel::fused_matmul(k = 144)]
pub fn fp8_swiglu(
    x: &Matrix<e5m2>,
    gate: &Matrix<e5m2>,
    up: &Matrix<e5m2>,
    scale: &Column<f32>,
    gated: &mut Matrix<f32>,
    out: &mut Matrix<f16>,
) {
    let gate = dot(x, gate.t()) * scale;
    gated = gate;
    out = silu(gate) * dot(x, up.t()) * scale;
}

/// A gradient by a weight of the other 8-bit float, with a scale a row of one and one of the other.
#[autokernel::fused_matmul]
pub fn fp8_backward(
    dy: &Matrix<e5m2>,
    w: &Matrix<e4m3>,
    scale: &Column<f32>,
    of_w: &Scalar<f32>,
    dx: &mut Matrix<bf16>,
) {
    dx = dot(dy, w.t()) * scale * of_w;
}

/// Two products of an activation and of gradients, whose type has fewer digits.
#[autokernel::fused_matmul]
pub fn fp8_backward_gated(x: &Matrix<e4m3>, dg: &Matrix<e5m2>, du: &Matrix<e5m2>, out: &mut Matrix<f32>) {
    out = silu(dot(x, dg.t())) * dot(x, du.t());
}

/// A layer's activation that leaves as 8-bit floats, with a scale a row, and beside it what is next to be scaled by.
#[autokernel::fused_matmul]
pub fn fp8_out(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    bias: &Row<bf16>,
    scale: &Column<f32>,
    out: &mut Matrix<e4m3>,
    largest: &mut Column<f32>,
) {
    let y = gelu_tanh(dot(x, w.t()) + bias);
    out = y / scale;
    largest = row_max(y.abs());
}

/// The same by one scale for all, with what is next to be scaled by, and what rows come to beside it.
#[autokernel::fused_matmul]
pub fn fp8_out_by_one_scale(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    bias: &Row<bf16>,
    scale: &Scalar<f32>,
    out: &mut Matrix<e4m3>,
    next: &mut Scalar<f32>,
    weights: &Column<f32>,
    mean: &mut Scalar<f32>,
    least: &mut Scalar<f16>,
) {
    let y = gelu_tanh(dot(x, w.t()) + bias);
    out = y / scale;
    let of_row = row_max(y.abs());
    next = column_max(of_row.max(1e-12) / 448.0);
    mean = column_mean(row_sum(y) * weights);
    least = column_min(row_min(y));
}

/// The mean loss of a language model's head, of logits that are written nowhere.
#[autokernel::fused_matmul]
pub fn mean_cross_entropy(x: &Matrix<bf16>, w: &Matrix<bf16>, target: &Column<f32>, loss: &mut Scalar<f32>) {
    let y = 0.125 * dot(x, w.t());
    let most = row_max(y);
    let chosen = row_sum(if column_index() == target { y } else { 0.0 });
    loss = column_mean(most + row_sum((y - most).exp()).ln() - chosen);
}

/// 8-bit floats into both kinds of them, two products, and 16 bits beside; by a scale in device memory.
#[autokernel::fused_matmul]
pub fn fp8_into_fp8(
    x: &Matrix<e4m3>,
    gate: &Matrix<e4m3>,
    up: &Matrix<e4m3>,
    scale: &Scalar<f32>,
    out: &mut Matrix<e5m2>,
    wide: &mut Matrix<bf16>,
    other: &mut Matrix<e4m3>,
) {
    let y = silu(dot(x, gate.t())) * dot(x, up.t());
    wide = y;
    out = 1000.0 * y / scale;
    other = y / scale;
}

/// Row-major weights into 8-bit floats, by a scale a column: sums that are beyond the largest among them.
#[autokernel::fused_matmul]
pub fn fp8_saturated(x: &Matrix<f16>, w: &Matrix<f16>, scale: &Row<f32>, out: &mut Matrix<e4m3>) {
    out = 400.0 * dot(x, w) * scale;
}

/// Whole numbers into 8-bit floats.
#[autokernel::fused_matmul]
pub fn int8_into_fp8(x: &Matrix<i8>, w: &Matrix<i8>, scale: &Column<f32>, out: &mut Matrix<e4m3>) {
    out = dot(x, w.t()) * scale * 0.01;
}

/// Halves into whole numbers, some beyond the last one, and as they are beside.
#[autokernel::fused_matmul]
pub fn halves_into_int8(
    x: &Matrix<f16>,
    w: &Matrix<f16>,
    scale: &Column<f32>,
    out: &mut Matrix<i8>,
    other: &mut Matrix<f32>,
) {
    let y = dot(x, w.t()) / scale;
    out = 60.0 * y;
    other = y;
}

/// Whole numbers with a scale a row and one a column, and what is added behind them.
#[autokernel::fused_matmul]
pub fn int8_scaled(
    x: &Matrix<i8>,
    w: &Matrix<i8>,
    scale_x: &Column<f32>,
    scale_w: &Row<f32>,
    bias: &Row<bf16>,
    out: &mut Matrix<bf16>,
) {
    out = dot(x, w.t()) * scale_x * scale_w + bias;
}

/// Two products of whole numbers.
#[autokernel::fused_matmul(k = 144)]
pub fn int8_swiglu(
    x: &Matrix<i8>,
    gate: &Matrix<i8>,
    up: &Matrix<i8>,
    scale: &Column<f32>,
    gated: &mut Matrix<f32>,
    out: &mut Matrix<f16>,
) {
    let gate = dot(x, gate.t()) * scale;
    gated = gate;
    out = silu(gate) * dot(x, up.t()) * scale;
}

/// fp32 as tf32, with a bias and what is added behind it.
#[autokernel::fused_matmul(tf32)]
pub fn tf32_residual(
    x: &Matrix<f32>,
    w: &Matrix<f32>,
    bias: &Row<f32>,
    skip: &Matrix<bf16>,
    pre: &mut Matrix<bf16>,
    out: &mut Matrix<f32>,
) {
    let sum = dot(x, w.t()) + bias;
    pre = sum;
    out = gelu_tanh(sum) + skip;
}

/// Rotary embeddings behind a projection: halves of heads as common checkpoints have them, by tables for all heads, and columns
/// behind them that are not rotated.
#[autokernel::fused_matmul]
pub fn rotary_halves(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    bias: &Row<bf16>,
    cosines: &Matrix<f32>,
    sines: &Matrix<bf16>,
    plain: &mut Matrix<f32>,
    out: &mut Matrix<bf16>,
) {
    let q = dot(x, w.t()) + bias;
    plain = q;
    let turned = q * repeat_columns(cosines) + rotate_half(q, 32) * repeat_columns(sines);
    out = if column_index() < 64.0 { turned } else { q };
}

/// The same of adjacent pairs, of two products, by one number a column over and over.
#[autokernel::fused_matmul]
pub fn rotary_pairs(
    x: &Matrix<f16>,
    w: &Matrix<f16>,
    v: &Matrix<f16>,
    angle: &Row<f32>,
    scale: &Column<f32>,
    out: &mut Matrix<f32>,
) {
    let y = scale * dot(x, w) + 0.5 * dot(x, v);
    out = y * repeat_columns(angle) - rotate_pairs(y) * 0.25 + rotate_pairs(y).abs();
}

/// A kernel, as every test of this folder takes it.
pub struct Declared {
    /// Its function's name.
    pub name: &'static str,
    /// What launches it.
    pub kernel: &'static AnyKernel,
}

/// The kernels above.
pub fn catalogue() -> Vec<Declared> {
    macro_rules! declared {
        ($($name:ident),+) => { [$(Declared { name: stringify!($name), kernel: &$name::KERNEL }),+] };
    }
    let mut declared = Vec::from(declared![bias_gelu, residual, scaled, wide, shuffled, language, converted, twenty]);
    declared.push(Declared { name: "swiglu", kernel: swiglu::kernel::<bf16, bf16>() });
    declared.extend(declared![
        weight_gradient,
        activation_gradient,
        rotary_halves,
        rotary_pairs,
        both_transposed,
        reduced,
        summed,
        cross_entropy,
        exponentials,
        lying_transposed,
        counted,
        geglu,
        band,
        fp8_scaled,
        fp8_swiglu,
        fp8_backward,
        fp8_backward_gated,
        fp8_out,
        fp8_out_by_one_scale,
        mean_cross_entropy,
        fp8_into_fp8,
        fp8_saturated,
        int8_into_fp8,
        halves_into_int8,
        int8_scaled,
        int8_swiglu,
        tf32_residual
    ]);
    declared.extend(derived::products().map(|(name, kernel)| Declared { name, kernel }));
    declared
}

impl Declared {
    /// Whether it was compiled for what `device` is.
    pub fn serves(&self, device: &Device) -> bool {
        let shape = shapes::with_known(&matmul::extents(64, 64, 64), &self.problem());
        !matches!(self.kernel.plan(device, &shape), Err(Error::WrongArch { .. }))
    }

    /// What it computes, as the build embedded it.
    ///
    /// # Panics
    /// It is no product.
    pub fn problem(&self) -> Problem {
        let descriptor = self.kernel.descriptor().expect("what the build embedded can be read");
        match serde_json::from_str(&descriptor.problem).expect("what the build embedded can be read") {
            problem::Problem::Matmul(problem) => problem,
            other => panic!("`{}` is {other}", self.name),
        }
    }
}
