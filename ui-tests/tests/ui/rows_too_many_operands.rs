#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn kernel(x0: &Matrix<f32>, x1: &Matrix<f32>, x2: &Matrix<f32>, x3: &Matrix<f32>, x4: &Matrix<f32>, x5: &Matrix<f32>, x6: &Matrix<f32>, x7: &Matrix<f32>, out: &mut Matrix<f32>) {
    out = x0;
}

fn main() {}
