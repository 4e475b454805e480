use autokernel::{Heads, Index, PageTable, bf16};

#[autokernel::attention(causal, head_dim = 128)]
fn swapped(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    query_bounds: &Index,
    sizes: &Index,
    out: &mut Heads<bf16>,
);

#[autokernel::attention(causal, head_dim = 128, page = 64)]
fn of_a_table(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    table: &PageTable,
    counts: &Index,
    out: &mut Heads<bf16>,
);

#[autokernel::attention(causal, head_dim = 128)]
fn in_another_order(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    lengths: &Index,
    query_bounds: &Index,
    out: &mut Heads<bf16>,
);

fn main() {}
