use autokernel::{Column, Matrix, bf16};

#[autokernel::fused_matmul]
fn embedded(x: &Matrix<bf16>, ids: &Column<f32>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x[ids], w.t());
}

fn main() {}
