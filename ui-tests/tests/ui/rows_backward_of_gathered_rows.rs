use autokernel::{Index, Matrix, bf16};

#[autokernel::rows(backward)]
pub fn kernel(x: &Matrix<bf16>, table: &Matrix<bf16>, ids: &Index, out: &mut Matrix<bf16>) {
    out = x * table[ids];
}

fn main() {}
