use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(leaky_relu(negative_slope = 0.2))]
fn up(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

fn main() {}
