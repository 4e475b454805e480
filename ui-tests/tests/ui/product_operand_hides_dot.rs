#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, dot: &Row<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x, w) + dot;
}

fn main() {}
