#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn halved(x: &Matrix<f32>, out: &mut Matrix<f32>) {
    out = { let y = x };
}

#[autokernel::function]
fn twice(x: f32) -> f32 {
    let y = x + x
}

fn called(x: &Matrix<f32>, out: &mut Matrix<f32>) -> autokernel::Result<()> {
    halved(x, out)
}

fn main() {}
