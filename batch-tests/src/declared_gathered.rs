//! Products of rows that an index picks, as a user declares them.

use autokernel::{Batch, Column, Index, Matrix, Row, RowBatch, bf16, e4m3, f16};

/// The first half of a mixture of experts, from the tokens as they lie.
#[autokernel::fused_matmul]
pub fn routed_swiglu(
    x: &Matrix<bf16>,
    gate: &Batch<bf16>,
    up: &Batch<bf16>,
    tokens: &Index,
    offsets: &Index,
    out: &mut Matrix<bf16>,
) {
    out = silu(dot(x[tokens], gate.t())) * dot(x[tokens], up.t());
}

/// An embedding and what is made of it: one product with a row-major weight, and every kind of operand.
#[autokernel::fused_matmul]
pub fn embedded(
    table: &Matrix<f16>,
    w: &Matrix<f16>,
    ids: &Index,
    bias: &Row<f32>,
    scale: &Column<f32>,
    skip: &Matrix<bf16>,
    pre: &mut Matrix<f32>,
    out: &mut Matrix<f16>,
) {
    let y = dot(table[ids], w) + bias;
    pre = y + 0.001 * row_index();
    out = y * scale + skip / rows();
}

/// Experts of 8-bit floats, with scales of the rows as they come out and of each one's columns.
#[autokernel::fused_matmul]
pub fn routed_bytes(
    offsets: &Index,
    x: &Matrix<e4m3>,
    tokens: &Index,
    w: &Batch<e4m3>,
    of_rows: &Column<f32>,
    of_columns: &RowBatch<f32>,
    out: &mut Matrix<bf16>,
) {
    out = dot(x[tokens], w.t()) * of_rows * of_columns;
}

/// The same rows by each of a batch of weights.
#[autokernel::fused_matmul(tf32)]
pub fn picked_by_all(x: &Matrix<f32>, rows: &Index, w: &Batch<f32>, out: &mut Batch<f32>) {
    out = dot(x[rows], w.t());
}
