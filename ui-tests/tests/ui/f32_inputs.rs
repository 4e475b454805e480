#![allow(unused_imports)]
use autokernel::{Matrix, bf16, f16};

#[autokernel::matmul]
fn linear(a: &Matrix<f32>, b: &Matrix<f32>, out: &mut Matrix<f32>);

fn main() {}
