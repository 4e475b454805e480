#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::function]
fn centred(x: f32) -> f32 {
    x - row_mean(x)
}

fn main() {}
