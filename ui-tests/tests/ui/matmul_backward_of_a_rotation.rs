use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(backward)]
pub fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let q = dot(x, w.t());
    out = q + rotate_half(q, 64);
}

fn main() {}
