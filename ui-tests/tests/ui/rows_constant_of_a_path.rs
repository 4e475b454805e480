#![allow(unused_imports)]
use autokernel::{Matrix, bf16};

#[autokernel::rows]
fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = std::f32::consts::PI * x;
}

fn main() {}
