#![allow(unused_imports)]
use autokernel::{Matrix, bf16, f16, i4x2};

#[autokernel::fused_matmul(group = 128)]
fn up(x: &Matrix<bf16>, w: &Matrix<i4x2>, zeros: &Matrix<i8>, out: &mut Matrix<bf16>) {
    out = dot(x, (w - zeros).t());
}

fn main() {}
