#![allow(unused_imports)]
use autokernel::{Batch, Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn experts(x: &Matrix<bf16>, offsets: &Index, w: &Batch<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x.t(), w.t());
}

fn main() {}
