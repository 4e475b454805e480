#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows(persistent)]
fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = x;
}

fn main() {}
