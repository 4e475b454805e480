#![allow(unused_imports)]
use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(T = [bf16, f32])]
fn linear<T>(x: &Matrix<T>, w: &Matrix<T>, out: &mut Matrix<T>) {
    out = dot(x, w.t());
}

fn main() {}
