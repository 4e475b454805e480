//! Batches of products as a user declares them.

use autokernel::{Batch, Column, ColumnBatch, Index, Matrix, Row, RowBatch, bf16, f16};

/// The scores of attention: both factors of each head.
#[autokernel::fused_matmul]
pub fn scores(q: &Batch<bf16>, k: &Batch<bf16>, scale: f32, out: &mut Batch<f32>) {
    out = scale * dot(q, k.t());
}

/// One row-major weight for all, and every kind of operand, of its own and shared.
#[autokernel::fused_matmul]
pub fn shared(
    x: &Batch<f16>,
    w: &Matrix<f16>,
    bias: &RowBatch<f32>,
    shift: &Row<bf16>,
    row_scale: &ColumnBatch<f16>,
    skip: &Batch<bf16>,
    pre: &mut Batch<f32>,
    out: &mut Batch<f16>,
) {
    let y = dot(x, w) * row_scale + bias;
    pre = y;
    out = if y > shift { y + skip } else { 0.2 * y };
}

/// Two products of an activation that all share, with weights of each one's own.
#[autokernel::fused_matmul(k = 72)]
pub fn gated(x: &Matrix<bf16>, gate: &Batch<bf16>, up: &Batch<bf16>, scale: &Column<f32>, out: &mut Batch<bf16>) {
    out = silu(dot(x, gate.t())) * dot(x, up.t()) * scale;
}

/// Experts of row-major weights: groups of rows, each with a weight and a bias of its own, and what all have beside.
#[autokernel::fused_matmul]
pub fn experts(
    x: &Matrix<f16>,
    offsets: &Index,
    w: &Batch<f16>,
    bias: &RowBatch<f32>,
    scale: &Column<f32>,
    skip: &Matrix<bf16>,
    pre: &mut Matrix<f32>,
    out: &mut Matrix<f16>,
) {
    let y = dot(x, w) + bias;
    pre = y + 0.001 * row_index();
    out = y * scale + skip;
}

/// The first half of a mixture of experts.
#[autokernel::fused_matmul]
pub fn swiglu(x: &Matrix<bf16>, gate: &Batch<bf16>, up: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
    out = silu(dot(x, gate.t())) * dot(x, up.t());
}

/// The gradients of experts' weights: each sums the rows of its group alone, to what was there.
#[autokernel::fused_matmul]
pub fn gradients(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, before: &Batch<f32>, dw: &mut Batch<f32>) {
    dw = before + dot(x.t(), dy);
}

/// Two gradients of one activation at once, with what groups have of their own and what they share.
#[autokernel::fused_matmul]
pub fn gated_gradients(
    x: &Matrix<f16>,
    offsets: &Index,
    gate: &Matrix<f16>,
    up: &Matrix<f16>,
    scale: &RowBatch<f32>,
    shift: &Column<bf16>,
    dup: &mut Batch<f32>,
    dgate: &mut Batch<f16>,
) {
    dup = dot(x.t(), up) + 0.001 * row_index();
    dgate = dot(x.t(), gate) * scale + shift;
}

/// Experts whose rows lie in slots, of which as many count as were filled.
#[autokernel::fused_matmul]
pub fn slots(
    x: &Batch<bf16>,
    w: &Batch<bf16>,
    counts: &Index,
    bias: &RowBatch<f32>,
    scale: &ColumnBatch<f32>,
    skip: &Matrix<f16>,
    pre: &mut Batch<f32>,
    out: &mut Batch<bf16>,
) {
    let y = dot(x, w.t()) + bias;
    pre = y + 0.001 * row_index();
    out = y * scale + skip;
}

/// Slots of rows of a transposed first factor, and two products of them with weights that all share.
#[autokernel::fused_matmul]
pub fn shared_slots(x: &Batch<f16>, gate: &Matrix<f16>, up: &Matrix<f16>, counts: &Index, out: &mut Batch<f16>) {
    out = silu(dot(x.t(), gate)) * dot(x.t(), up);
}
