#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, e4m3};

#[autokernel::rows]
fn widen(x: &Matrix<e4m3>, out: &mut Matrix<bf16>) {
    out = x;
}

fn main() {}
