#![allow(unused_imports)]
use autokernel::{Matrix, bf16, f16};

#[autokernel::matmul]
fn linear(a: &Matrix<u8>, b: &Matrix<u8>, out: &mut Matrix<u8>);

fn main() {}
