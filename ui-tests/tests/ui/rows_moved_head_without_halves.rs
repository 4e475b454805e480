use autokernel::{Matrix, bf16};

#[autokernel::rows]
pub fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = x + rotate_half(x, 7);
}

fn main() {}
