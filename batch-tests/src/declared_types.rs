//! Batches and groups of other types than 16-bit floats, as a user declares them.

use autokernel::{Batch, Column, ColumnBatch, Index, Matrix, RowBatch, ScalarBatch, bf16, e4m3, e5m2, f16, i4x2};

/// Experts of 8-bit floats, with scales of rows, of each one's columns, and of each one's weights.
#[autokernel::fused_matmul]
pub fn fp8_experts(
    x: &Matrix<e4m3>,
    w: &Batch<e4m3>,
    offsets: &Index,
    of_rows: &Column<f32>,
    of_columns: &RowBatch<f32>,
    of_weights: &ScalarBatch<f32>,
    out: &mut Matrix<bf16>,
) {
    out = dot(x, w.t()) * of_rows * of_columns * of_weights;
}

/// Whole numbers, whose sums are exact.
#[autokernel::fused_matmul]
pub fn bytes(
    x: &Batch<i8>,
    w: &Batch<i8>,
    of_rows: &ColumnBatch<f32>,
    of_columns: &RowBatch<f32>,
    out: &mut Batch<f32>,
) {
    out = dot(x, w.t()) * of_rows * of_columns;
}

/// Slots of `f32` rows.
#[autokernel::fused_matmul(tf32)]
pub fn tf32_slots(x: &Batch<f32>, w: &Batch<f32>, counts: &Index, shift: &ScalarBatch<bf16>, out: &mut Batch<f32>) {
    out = dot(x, w.t()) + shift;
}

/// Experts whose weights have 8 bits, and a scale for each column.
#[autokernel::fused_matmul]
pub fn bytes_of_weights(
    x: &Matrix<bf16>,
    w: &Batch<i8>,
    offsets: &Index,
    scale: &RowBatch<f32>,
    out: &mut Matrix<bf16>,
) {
    out = dot(x, w.t()) * scale;
}

/// The first half of a mixture of experts whose weights have 4 bits, and scales and zero points of groups along K.
#[autokernel::fused_matmul(group = 64)]
pub fn packed_experts(
    x: &Matrix<bf16>,
    gate: &Batch<i4x2>,
    of_gate: &Batch<f16>,
    zeros_gate: &Batch<i8>,
    up: &Batch<i4x2>,
    of_up: &Batch<f16>,
    zeros_up: &Batch<i8>,
    offsets: &Index,
    out: &mut Matrix<bf16>,
) {
    out = silu(dot(x, ((gate - zeros_gate) * of_gate).t())) * dot(x, ((up - zeros_up) * of_up).t());
}

/// Slots of rows beside weights of 4 bits, with scales of small groups.
#[autokernel::fused_matmul(group = 32)]
pub fn packed_slots(
    x: &Batch<f16>,
    w: &Batch<i4x2>,
    scales: &Batch<f32>,
    counts: &Index,
    bias: &RowBatch<f32>,
    out: &mut Batch<f32>,
) {
    out = dot(x, (w * scales).t()) + bias;
}

/// One matrix of weights of 8 bits for all of a batch, with its scales of groups and zero points.
#[autokernel::fused_matmul(group = 128)]
pub fn shared_weights(
    x: &Batch<bf16>,
    w: &Matrix<i8>,
    scales: &Matrix<bf16>,
    zeros: &Matrix<i8>,
    out: &mut Batch<bf16>,
) {
    out = dot(x, ((w - zeros) * scales).t());
}

/// Experts of 8-bit floats with scales of blocks: those of rows lie as the rows do, and each expert has its own of its weights.
#[autokernel::fused_matmul(block = 128)]
pub fn scaled_experts(
    x: &Matrix<e4m3>,
    of_x: &Matrix<f32>,
    gate: &Batch<e4m3>,
    of_gate: &Batch<f32>,
    up: &Batch<e4m3>,
    of_up: &Batch<f32>,
    offsets: &Index,
    out: &mut Matrix<bf16>,
) {
    out = silu(dot(x * of_x, (gate * of_gate).t())) * dot(x * of_x, (up * of_up).t());
}

/// Slots of the same, of both types.
#[autokernel::fused_matmul(block = 128)]
pub fn scaled_slots(
    x: &Batch<e5m2>,
    of_x: &Batch<f32>,
    w: &Batch<e4m3>,
    of_w: &Batch<f32>,
    counts: &Index,
    out: &mut Batch<f32>,
) {
    out = dot(x * of_x, (w * of_w).t());
}
