use autokernel::{Column, Matrix, bf16};

#[autokernel::rows]
pub fn kernel(x: &Matrix<bf16>, at: &Column<f32>, out: &mut Matrix<bf16>) {
    out = x[at];
}

fn main() {}
