#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::fused_matmul]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, sums: &mut Matrix<f32>) {
    sums = row_sum(dot(x, w));
}

fn main() {}
