use autokernel::{Heads, bf16};

#[autokernel::attention(causal, head_dim = 128, backward)]
fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);

fn main() {}
