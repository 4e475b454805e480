//! Batches of products as a user declares them.

use autokernel::{AnyKernel, Batch, Column, ColumnBatch, Index, Matrix, Row, RowBatch, bf16, f16};
use autokernel_codegen::problem;
use autokernel_codegen::product::Problem;

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

/// A kernel, as every test takes it.
pub struct Declared {
    /// Its function's name.
    pub name: &'static str,
    /// What launches it.
    pub kernel: &'static AnyKernel,
}

impl Declared {
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

/// The kernels above.
pub fn catalogue() -> [Declared; 5] {
    [
        Declared { name: "scores", kernel: &scores::KERNEL },
        Declared { name: "shared", kernel: &shared::KERNEL },
        Declared { name: "gated", kernel: &gated::KERNEL },
        Declared { name: "experts", kernel: &experts::KERNEL },
        Declared { name: "swiglu", kernel: &swiglu::KERNEL },
    ]
}
