use autokernel::{Matrix, bf16};

#[autokernel::rows(backward)]
pub fn kernel(x: &Matrix<bf16>, mask: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = if mask > 0.0 { x } else { 0.0 };
}

fn main() {}
