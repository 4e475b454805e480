use autokernel::{Matrix, bf16};

#[autokernel::rows]
fn kernel(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out.t() = x;
}

fn main() {}
