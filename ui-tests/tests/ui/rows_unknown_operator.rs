#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = x ^ 2.0;
}

fn main() {}
