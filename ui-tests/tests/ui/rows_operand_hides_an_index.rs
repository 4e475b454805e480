#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn kernel(x: &Matrix<bf16>, row_index: &Column<f32>, out: &mut Matrix<bf16>) {
    out = x / row_index;
}

fn main() {}
