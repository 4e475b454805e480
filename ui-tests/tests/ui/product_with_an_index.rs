use autokernel::{Index, Matrix, bf16};

#[autokernel::fused_matmul]
pub fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, ids: &Index, out: &mut Matrix<bf16>) {
    out = dot(x, w.t()) + skip[ids];
}

fn main() {}
