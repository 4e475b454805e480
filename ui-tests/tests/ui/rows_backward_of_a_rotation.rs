use autokernel::{Matrix, bf16};

#[autokernel::rows(backward)]
pub fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = x + rotate_half(x, 64);
}

fn main() {}
