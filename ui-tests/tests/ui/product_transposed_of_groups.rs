use autokernel::{Batch, Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
    out.t() = dot(x, w.t());
}

fn main() {}
