use autokernel::{Matrix, bf16, e4m3};

#[autokernel::rows(backward)]
pub fn kernel(x: &Matrix<bf16>, out: &mut Matrix<e4m3>) {
    out = x.tanh();
}

fn main() {}
