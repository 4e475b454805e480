#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::function]
fn shifted(x: f32) -> f32 {
    x - row_index()
}

fn main() {}
