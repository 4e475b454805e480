use autokernel::{Matrix, bf16};

#[autokernel::rows(backward(x, wieght))]
pub fn kernel(x: &Matrix<bf16>, weight: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = x * weight;
}

fn main() {}
