use autokernel::{Column, Matrix, bf16, e4m3};

#[autokernel::fused_matmul(block = 128)]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>) {
    out * scale = dot(x, w.t());
}

fn main() {}
