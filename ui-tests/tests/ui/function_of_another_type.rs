#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::function]
fn wide(x: bf16, y: f64) -> f32 {
    x.to_f32() + y as f32
}

fn main() {}
