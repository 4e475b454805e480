use autokernel::{Batch, Index, bf16};

#[autokernel::fused_matmul]
fn experts(x: &Batch<bf16>, rows: &Index, w: &Batch<bf16>, out: &mut Batch<bf16>) {
    out = dot(x[rows], w.t());
}

fn main() {}
