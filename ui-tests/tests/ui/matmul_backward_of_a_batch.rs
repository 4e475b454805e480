use autokernel::{Batch, bf16};

#[autokernel::fused_matmul(backward)]
pub fn kernel(x: &Batch<bf16>, w: &Batch<bf16>, out: &mut Batch<bf16>) {
    out = relu(dot(x, w.t()));
}

fn main() {}
