use autokernel::{Matrix, Row, i4x2};

#[autokernel::fused_matmul]
fn linear(x: &Matrix<i8>, w: &Matrix<i4x2>, scale: &Row<f32>, out: &mut Matrix<f32>) {
    out = dot(x, w.t()) * scale;
}

fn main() {}
