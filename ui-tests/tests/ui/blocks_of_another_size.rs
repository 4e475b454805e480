use autokernel::{Matrix, bf16, e4m3};

#[autokernel::fused_matmul(block = 64)]
fn linear(x: &Matrix<e4m3>, xs: &Matrix<f32>, w: &Matrix<e4m3>, ws: &Matrix<f32>, out: &mut Matrix<bf16>) {
    out = dot(x * xs, (w * ws).t());
}

fn main() {}
