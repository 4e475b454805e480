#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::function]
fn scaled(x: f32, exp: f32) -> f32 {
    x * exp
}

fn main() {}
