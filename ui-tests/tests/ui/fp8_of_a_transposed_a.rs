#![allow(unused_imports)]
use autokernel::{Matrix, bf16, e4m3};

#[autokernel::fused_matmul(relu, transpose_a, transpose_b)]
fn linear(a: &Matrix<e4m3>, b: &Matrix<e4m3>, out: &mut Matrix<bf16>);

fn main() {}
