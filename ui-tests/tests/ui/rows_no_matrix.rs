#![allow(unused_imports)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::rows]
fn kernel(x: &Column<f32>, out: &mut Column<f32>) {
    out = 2.0 * x;
}

fn main() {}
