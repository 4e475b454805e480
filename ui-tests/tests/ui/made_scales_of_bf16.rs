use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(block = 128)]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out_scales: &mut Matrix<bf16>, out: &mut Matrix<bf16>) {
    out * out_scales = dot(x, w.t());
}

fn main() {}
