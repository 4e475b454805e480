#![allow(unused_imports)]
use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = x * w.t();
}

fn main() {}
