#![allow(unused_imports)]
use autokernel::{Batch, Column, Matrix, Row, bf16, f16};

#[autokernel::fused_matmul]
fn head(x: &Matrix<bf16>, w: &Matrix<bf16>, loss: &mut Column<f32>) {
    let y = dot(x, w.t());
    loss = y - row_max(y);
}

fn main() {}
