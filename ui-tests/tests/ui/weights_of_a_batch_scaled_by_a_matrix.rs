use autokernel::{Batch, Index, Matrix, bf16, f16, i4x2};

#[autokernel::fused_matmul(group = 128)]
fn kernel(x: &Matrix<bf16>, w: &Batch<i4x2>, scales: &Matrix<f16>, offsets: &Index, out: &mut Matrix<bf16>) {
    out = dot(x, (w * scales).t());
}

fn main() {}
