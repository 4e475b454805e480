use autokernel::{Index, Matrix, bf16};

#[autokernel::rows]
pub fn kernel(x: &Matrix<bf16>, ids: &mut Index, out: &mut Matrix<bf16>) {
    out = x;
}

fn main() {}
