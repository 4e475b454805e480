use autokernel::{Matrix, bf16};

#[autokernel::rows(backward, backward(x))]
pub fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = x.exp();
}

fn main() {}
