use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(backward)]
pub fn kernel(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = silu(dot(x, gate.t())) * dot(x, up.t());
}

fn main() {}
