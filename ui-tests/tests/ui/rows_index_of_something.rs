#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = x * column_index(x);
}

fn main() {}
