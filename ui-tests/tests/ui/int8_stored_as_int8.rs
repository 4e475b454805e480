#![allow(unused_imports)]
use autokernel::Matrix;

#[autokernel::matmul(transpose_b)]
fn linear(a: &Matrix<i8>, b: &Matrix<i8>, out: &mut Matrix<i8>);

fn main() {}
