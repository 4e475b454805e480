use autokernel::{Batch, Matrix, bf16, e4m3};

#[autokernel::fused_matmul(block = 128)]
fn linear(x: &Batch<e4m3>, xs: &Matrix<f32>, w: &Matrix<e4m3>, ws: &Batch<f32>, out: &mut Batch<bf16>) {
    out = dot(x * xs, (w * ws).t());
}

fn main() {}
