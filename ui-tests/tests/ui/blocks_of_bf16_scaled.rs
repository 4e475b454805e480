use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(block = 128)]
fn linear(x: &Matrix<bf16>, xs: &Matrix<f32>, w: &Matrix<bf16>, ws: &Matrix<f32>, out: &mut Matrix<bf16>) {
    out = dot(x * xs, (w * ws).t());
}

fn main() {}
