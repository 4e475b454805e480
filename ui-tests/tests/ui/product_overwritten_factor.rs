#![allow(unused_imports)]
use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(w: &Matrix<bf16>, x: &mut Matrix<bf16>) {
    x = dot(x, w.t());
}

fn main() {}
