#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::function]
fn nothing(x: f32) {
    let _y = x;
}

fn main() {}
