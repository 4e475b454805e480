#![allow(unused_imports)]
use autokernel::{Batch, Index, Matrix, bf16};

#[autokernel::fused_matmul(k = 4096)]
fn kernel(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, dw: &mut Batch<bf16>) {
    dw = dot(x.t(), dy);
}

fn main() {}
