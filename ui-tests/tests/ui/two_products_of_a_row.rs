#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::fused_matmul]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, v: &Row<bf16>, out: &mut Matrix<bf16>) {
    out = silu(dot(x, w.t())) * dot(x, v.t());
}

fn main() {}
