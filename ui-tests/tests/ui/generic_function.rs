#![allow(unused_imports)]
use autokernel::{Matrix, bf16, f16};

#[autokernel::matmul]
fn linear<T>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>);

fn main() {}
