use autokernel::{Batch, bf16};

#[autokernel::rows]
fn kernel(x: &Batch<bf16>, out: &mut Batch<bf16>) {
    out = 2.0 * x;
}

fn main() {}
