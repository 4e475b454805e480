use autokernel::{Matrix, ScalarBatch, bf16, e4m3};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale: &ScalarBatch<f32>, out: &mut Matrix<bf16>) {
    out = dot(x, w.t()) * scale;
}

fn main() {}
