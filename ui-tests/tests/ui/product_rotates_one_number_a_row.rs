use autokernel::{Column, Matrix, bf16};

#[autokernel::fused_matmul]
fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<bf16>) {
    let twice = scale * 2.0;
    out = dot(x, w.t()) * rotate_pairs(twice);
}

fn main() {}
