use autokernel::{Batch, Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(q: &Batch<bf16>, k: &Batch<bf16>, out: &mut Matrix<bf16>) {
    out = dot(q, k.t());
}

fn main() {}
