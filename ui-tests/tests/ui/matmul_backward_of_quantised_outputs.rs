use autokernel::{Matrix, bf16, e4m3};

#[autokernel::fused_matmul(backward)]
pub fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<e4m3>) {
    out = relu(dot(x, w.t()));
}

fn main() {}
