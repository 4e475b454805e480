#![allow(unused_imports)]
use autokernel::{Batch, Column, Matrix, Row, bf16, f16};

#[autokernel::fused_matmul]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let y = dot(x, w.t());
    let scale = 1.0 / row_mean(y * y).sqrt();
    out = y * scale;
}

fn main() {}
