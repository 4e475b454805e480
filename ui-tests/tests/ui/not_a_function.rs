#![allow(unused_imports)]
use autokernel::{Matrix, bf16, f16};

#[autokernel::matmul]
struct Linear;

fn main() {}
