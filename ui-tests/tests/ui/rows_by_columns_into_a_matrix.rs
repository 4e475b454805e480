use autokernel::{Matrix, bf16};

#[autokernel::rows]
pub fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = column_sum(x);
}

fn main() {}
