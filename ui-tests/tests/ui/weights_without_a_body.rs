use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(relu, transpose_b)]
fn linear(x: &Matrix<bf16>, w: &Matrix<i8>, out: &mut Matrix<bf16>);

fn main() {}
