#![allow(unused_imports, dead_code)]
use autokernel::{Column, Matrix, Row, bf16, f16};

#[autokernel::function]
struct HardSwish;

fn main() {}
