use autokernel::{Heads, bf16};

#[autokernel::attention(head_dim = 512)]
fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);

fn main() {}
