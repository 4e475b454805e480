#![allow(unused_imports)]
use autokernel::{Matrix, bf16};

#[autokernel::rows]
fn kernel(x: &Matrix<bf16>, most: f32, out: &mut Matrix<bf16>) {
    out = x.clamp(1.0, -1.0);
}

#[autokernel::rows]
fn other(x: &Matrix<bf16>, most: f32, out: &mut Matrix<bf16>) {
    out = x.clamp(0.0, most);
}

fn main() {}
