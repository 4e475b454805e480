#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn scaled(x: &Matrix<f32>, KERNEL: &Row<f32>, out: &mut Matrix<f32>) {
    out = x * KERNEL;
}

fn main() {}
