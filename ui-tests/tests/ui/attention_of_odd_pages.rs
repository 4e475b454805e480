use autokernel::{Heads, Index, PageTable, bf16};

#[autokernel::attention(causal, head_dim = 128)]
fn without_a_size(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    pages: &PageTable,
    lengths: &Index,
    out: &mut Heads<bf16>,
);

#[autokernel::attention(causal, head_dim = 128, page = 24)]
fn of_an_odd_size(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    pages: &PageTable,
    lengths: &Index,
    out: &mut Heads<bf16>,
);

fn main() {}
