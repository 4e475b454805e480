#![allow(unused_imports)]
use autokernel::{Element, Matrix, bf16, f16};

#[autokernel::matmul(T = [bf16, f16])]
fn linear<T: Element>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>);

fn main() {}
