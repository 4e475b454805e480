use autokernel::{Matrix, bf16};

#[autokernel::attention(head_dim = 128, dropout = 0.1)]
fn attend(q: &Matrix<bf16>, k: &Matrix<bf16>, v: &Matrix<bf16>, out: &mut Matrix<bf16>);

fn main() {}
