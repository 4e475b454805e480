use autokernel::{Batch, Index, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Batch<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Batch<bf16>) {
    out = dot(x, w.t());
}

fn main() {}
