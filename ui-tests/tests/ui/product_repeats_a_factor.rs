use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x, w.t()) * repeat_columns(x);
}

fn main() {}
