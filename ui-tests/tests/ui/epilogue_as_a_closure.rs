use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(|x| x * 2.0)]
fn up(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

fn main() {}
