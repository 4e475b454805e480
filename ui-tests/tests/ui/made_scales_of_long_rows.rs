use autokernel::{Column, Matrix, bf16, e4m3};

#[autokernel::fused_matmul(n = 4096)]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<e4m3>, scale: &mut Column<f32>) {
    out * scale = dot(x, w.t());
}

#[autokernel::fused_matmul]
fn unknown(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<e4m3>, scale: &mut Column<f32>) {
    out * scale = dot(x, w.t());
}

#[autokernel::fused_matmul(n = 128, block = 128)]
fn without_blocks(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<e4m3>, scale: &mut Column<f32>) {
    out * scale = dot(x, w.t());
}

fn main() {}
