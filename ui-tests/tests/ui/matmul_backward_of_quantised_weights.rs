use autokernel::{Matrix, Row, bf16};

#[autokernel::fused_matmul(backward)]
pub fn kernel(x: &Matrix<bf16>, w: &Matrix<i8>, scale: &Row<f32>, out: &mut Matrix<bf16>) {
    out = dot(x, w.t()) * scale;
}

fn main() {}
