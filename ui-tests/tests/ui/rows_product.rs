#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x, w);
}

fn main() {}
