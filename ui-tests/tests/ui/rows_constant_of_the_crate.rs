#![allow(unused_imports)]
use autokernel::{Matrix, bf16};

const ALPHA: f32 = 0.5;

#[autokernel::rows]
fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = ALPHA * x;
}

fn main() {}
