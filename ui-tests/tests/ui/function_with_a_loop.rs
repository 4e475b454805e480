#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::function]
fn power(x: f32) -> f32 {
    let mut y = x;
    for _ in 0..3 {
        y = y * x;
    }
    y
}

fn main() {}
