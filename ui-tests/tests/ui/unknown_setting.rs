#![allow(unused_imports)]
use autokernel::{Matrix, bf16, f16};

#[autokernel::fused_matmul(relu, transpose_c)]
fn linear(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

fn main() {}
