use autokernel::{Matrix, Scalar, bf16};

#[autokernel::fused_matmul]
pub fn scaled(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Scalar<f64>, out: &mut Matrix<bf16>) {
    out = scale * dot(x, w.t());
}

fn main() {}
