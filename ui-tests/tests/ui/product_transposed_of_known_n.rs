use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(n = 4096)]
fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out.t() = dot(x, w.t());
}

fn main() {}
