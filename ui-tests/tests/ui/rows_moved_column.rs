use autokernel::{Column, Matrix, bf16};

#[autokernel::rows]
pub fn kernel(x: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<bf16>) {
    out = x * repeat_columns(scale);
}

fn main() {}
