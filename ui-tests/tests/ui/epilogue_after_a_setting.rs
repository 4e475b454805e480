use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(transpose_b, relu)]
fn up(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

fn main() {}
