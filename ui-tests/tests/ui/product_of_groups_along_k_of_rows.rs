#![allow(unused_imports)]
use autokernel::{Batch, Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, dw: &mut Batch<bf16>) {
    dw = dot(x, dy.t());
}

fn main() {}
