use autokernel::{Matrix, bf16};

#[autokernel::rows(backward(x, slope))]
pub fn kernel(x: &Matrix<bf16>, slope: f32, out: &mut Matrix<bf16>) {
    out = x * slope;
}

fn main() {}
