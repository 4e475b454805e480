#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, e4m3};

#[autokernel::fused_matmul]
fn quantised(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<e4m3>, largest: &mut Column<e4m3>) {
    let y = dot(x, w.t());
    out = y;
    largest = row_max(y.abs());
}

fn main() {}
