use autokernel::{Batch, Index, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Batch<bf16>, w: &Batch<bf16>, counts: &Index, out: &mut Batch<bf16>) {
    let count = counts + 1.0;
    out = dot(x, w.t()) / count;
}

fn main() {}
