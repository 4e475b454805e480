use autokernel::{Batch, Index, Matrix, RowBatch, bf16};

#[autokernel::fused_matmul]
fn experts(
    x: &Matrix<bf16>,
    tokens: &Index,
    w: &Batch<i8>,
    offsets: &Index,
    scale: &RowBatch<f32>,
    out: &mut Matrix<bf16>,
) {
    out = dot(x[tokens], w.t()) * scale;
}

fn main() {}
