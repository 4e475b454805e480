use autokernel::{Matrix, Scalar, bf16};

#[autokernel::rows]
pub fn count(x: &Matrix<bf16>, out: &mut Scalar<f32>) {
    out = row_sum(x);
}

fn main() {}
