use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out.t() = silu(dot(x, gate.t())) * dot(x, up.t());
}

fn main() {}
