#![allow(unused_imports)]
use autokernel::{Batch, Index, Matrix, e4m3};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<e4m3>, dy: &Matrix<e4m3>, offsets: &Index, dw: &mut Batch<f32>) {
    dw = dot(x.t(), dy);
}

fn main() {}
