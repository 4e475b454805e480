#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16};

#[autokernel::fused_matmul]
fn up(x: &Matrix<i8>, w: &Matrix<i8>, scale: &Column<f32>, out: &mut Matrix<bf16>) {
    out = dot(x, w) * scale;
}

fn main() {}
