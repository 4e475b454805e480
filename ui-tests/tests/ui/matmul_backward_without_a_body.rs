use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(gelu, transpose_b, backward)]
pub fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

fn main() {}
