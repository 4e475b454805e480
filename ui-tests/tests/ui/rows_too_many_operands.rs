#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn kernel(x0: &Matrix<f32>, x1: &Matrix<f32>, x2: &Matrix<f32>, x3: &Matrix<f32>, x4: &Matrix<f32>, x5: &Matrix<f32>, x6: &Matrix<f32>, x7: &Matrix<f32>, x8: &Matrix<f32>, x9: &Matrix<f32>, x10: &Matrix<f32>, x11: &Matrix<f32>, x12: &Matrix<f32>, x13: &Matrix<f32>, x14: &Matrix<f32>, x15: &Matrix<f32>, x16: &Matrix<f32>, x17: &Matrix<f32>, x18: &Matrix<f32>, x19: &Matrix<f32>, out: &mut Matrix<f32>) {
    out = x0;
}

fn main() {}
