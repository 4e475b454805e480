#![allow(unused_imports)]
use autokernel::{Matrix, bf16, f16};

#[autokernel::rows(T = [bf16, f16])]
fn double(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = 2.0 * x;
}

fn main() {}
