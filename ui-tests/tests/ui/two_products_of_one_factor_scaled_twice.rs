use autokernel::{Matrix, bf16, e4m3};

#[autokernel::fused_matmul(block = 128)]
fn swiglu(
    x: &Matrix<e4m3>,
    xs: &Matrix<f32>,
    others: &Matrix<f32>,
    gate: &Matrix<e4m3>,
    of_gate: &Matrix<f32>,
    up: &Matrix<e4m3>,
    of_up: &Matrix<f32>,
    out: &mut Matrix<bf16>,
) {
    out = silu(dot(x * xs, (gate * of_gate).t())) * dot(x * others, (up * of_up).t());
}

fn main() {}
