use autokernel::{Matrix, bf16, e4m3};

#[autokernel::fused_matmul]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out_scales: &mut Matrix<f32>, out: &mut Matrix<e4m3>) {
    out * out_scales = dot(x, w.t());
}

fn main() {}
