use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = rotate_half(dot(x, w.t()), 64);
}

fn main() {}
