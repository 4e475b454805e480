use autokernel::{Column, Matrix, bf16, e4m3, f16};

#[autokernel::fused_matmul(block = 128)]
fn linear(x: &Matrix<e4m3>, xs: &Column<f32>, w: &Matrix<e4m3>, ws: &Matrix<f16>, out: &mut Matrix<bf16>) {
    out = dot(x * xs, (w * ws).t());
}

fn main() {}
