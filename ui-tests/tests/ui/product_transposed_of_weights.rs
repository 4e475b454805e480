use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, w: &Matrix<i8>, out: &mut Matrix<bf16>) {
    out.t() = dot(x, w.t());
}

fn main() {}
