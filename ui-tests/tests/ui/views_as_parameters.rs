use autokernel::{Matrix, MatrixView, bf16};

#[autokernel::fused_matmul(relu)]
fn up(a: &MatrixView<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

fn main() {}
