#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::fused_matmul(transpose_a)]
fn gradient(x: &Matrix<bf16>, dy: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x, dy);
}

fn main() {}
