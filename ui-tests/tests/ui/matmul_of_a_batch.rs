use autokernel::{Batch, bf16};

#[autokernel::matmul]
fn kernel(a: &Batch<bf16>, b: &Batch<bf16>, out: &mut Batch<bf16>);

fn main() {}
