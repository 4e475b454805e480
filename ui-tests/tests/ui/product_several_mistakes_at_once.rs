#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::fused_matmul]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<f64>, out: &mut Matrix<bf16>) {
    let y = dot(x + 1.0, w);
    out = y ^ 2;
}

fn main() {}
