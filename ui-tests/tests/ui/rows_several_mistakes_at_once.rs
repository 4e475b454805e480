#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn kernel(x: &Matrix<u8>, out: &mut Matrix<bf16>) {
    let y = 1;
    out = x ^ 2.0;
}

fn main() {}
