use autokernel::{Index, Matrix, bf16};

#[autokernel::rows(backward)]
pub fn kernel(x: &Matrix<bf16>, slots: &Index, out: &mut Matrix<bf16>) {
    let y = 2.0 * x;
    out[slots] = y;
}

fn main() {}
