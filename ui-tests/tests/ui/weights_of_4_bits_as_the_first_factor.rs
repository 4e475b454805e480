use autokernel::{Matrix, Row, bf16, i4x2};

#[autokernel::fused_matmul]
fn linear(x: &Matrix<i4x2>, w: &Matrix<i4x2>, scale: &Row<f32>, out: &mut Matrix<bf16>) {
    out = dot(x, w.t()) * scale;
}

fn main() {}
