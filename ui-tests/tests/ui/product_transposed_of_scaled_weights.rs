use autokernel::{Matrix, bf16, f16, i4x2};

#[autokernel::fused_matmul(group = 128)]
fn kernel(x: &Matrix<bf16>, w: &Matrix<i4x2>, scales: &Matrix<f16>, out: &mut Matrix<bf16>) {
    out.t() = dot(x, (w * scales).t());
}

fn main() {}
