#![allow(unused_imports)]
use autokernel::{Matrix, Row, bf16};

#[autokernel::fused_matmul(relu)]
fn linear(a: &Matrix<bf16>, b: &Matrix<bf16>, bias: &Row<bf16>, out: &mut Matrix<bf16>);

fn main() {}
