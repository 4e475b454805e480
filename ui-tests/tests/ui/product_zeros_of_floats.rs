#![allow(unused_imports)]
use autokernel::{Matrix, bf16, f16, i4x2};

#[autokernel::fused_matmul(group = 128)]
fn up(x: &Matrix<bf16>, w: &Matrix<i4x2>, zeros: &Matrix<f16>, scales: &Matrix<f16>, out: &mut Matrix<bf16>) {
    out = dot(x, ((w - zeros) * scales).t());
}

fn main() {}
