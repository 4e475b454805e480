#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

fn hard_swish(x: f32) -> f32 {
    x * (x + 3.0).max(0.0).min(6.0) / 6.0
}

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = hard_swish(dot(x, w));
}

fn main() {}
