use autokernel::{Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
    out = dot(x, w.t());
}

fn main() {}
