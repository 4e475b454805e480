#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, e4m3};

#[autokernel::fused_matmul]
fn up(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale: &Column<f32>, out: &mut Matrix<bf16>) {
    out = dot(x.t(), w) * scale;
}

fn main() {}
