use autokernel::{Matrix, bf16, e4m3};

#[autokernel::fused_matmul(block = 128)]
fn linear(x: &Matrix<e4m3>, w: &Matrix<e4m3>, out: &mut Matrix<bf16>) {
    out = dot(x, w.t());
}

fn main() {}
