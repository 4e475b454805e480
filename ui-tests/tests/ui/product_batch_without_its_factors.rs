use autokernel::{Batch, Matrix, RowBatch, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &RowBatch<bf16>, out: &mut Batch<bf16>) {
    out = dot(x, w.t()) + bias;
}

fn main() {}
