#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::function]
fn decay(x: f32) -> f32 {
    if x < 1.0 { x } else { decay(x * 0.5) }
}

fn main() {}
