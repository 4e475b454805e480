//! The declarations: each mask, and each kind of width that the kernels tell apart.

use autokernel::{Heads, Index, PageTable, PerDistance, PerHead, Scalar, bf16, f16};

/// Heads of 64: three consumers.
#[autokernel::attention(head_dim = 64)]
pub fn full(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);

/// Heads of 128, of either type.
#[autokernel::attention(causal, head_dim = 128, T = [bf16, f16])]
pub fn causal<T>(q: &Heads<T>, k: &Heads<T>, v: &Heads<T>, out: &mut Heads<T>);

/// Heads that end inside a panel, and values that are narrower.
#[autokernel::attention(causal, window = 100, head_dim = 96, value_dim = 80, scale = 0.1)]
pub fn window(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);

/// The widest heads.
#[autokernel::attention(head_dim = 256, window = 70)]
pub fn wide(q: &Heads<f16>, k: &Heads<f16>, v: &Heads<f16>, out: &mut Heads<f16>);

/// The widest heads of bf16.
#[autokernel::attention(causal, head_dim = 256)]
pub fn widest(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);

/// Heads of 192.
#[autokernel::attention(causal, head_dim = 192)]
pub fn broad(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);

/// Heads of 192 with values of 128, as of DeepSeek's models.
#[autokernel::attention(causal, head_dim = 192, value_dim = 128)]
pub fn deep(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);

/// A soft cap, and a slope for each head (ALiBi).
#[autokernel::attention(causal, head_dim = 128)]
pub fn capped(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    slope: &PerHead<f32>,
    cap: f32,
    out: &mut Heads<bf16>,
) {
    let capped = cap * (score * scale / cap).tanh();
    score = capped + slope * (key - query);
}

/// A soft cap alone, by which scores have bounds.
#[autokernel::attention(causal, head_dim = 128)]
pub fn bounded(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, cap: f32, out: &mut Heads<bf16>) {
    score = cap * (score * scale / cap).tanh();
}

/// With the logarithm of each query's sum of exponentials.
#[autokernel::attention(causal, head_dim = 64)]
pub fn summed(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>, log_sum_exp: &mut Heads<f32>);

/// Keys that the device counts.
#[autokernel::attention(causal, head_dim = 128)]
pub fn counted(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, lengths: &Index, out: &mut Heads<bf16>);

/// Keys in pages.
#[autokernel::attention(causal, head_dim = 128, page = 64)]
pub fn paged(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    pages: &PageTable,
    lengths: &Index,
    out: &mut Heads<bf16>,
);

/// Sequences one behind the other, with a window.
#[autokernel::attention(causal, head_dim = 64, window = 90)]
pub fn packed(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    query_bounds: &Index,
    key_bounds: &Index,
    out: &mut Heads<bf16>,
);

/// Packed queries on keys in small pages, with a body.
#[autokernel::attention(head_dim = 64, page = 16)]
pub fn chunked(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    query_bounds: &Index,
    pages: &PageTable,
    lengths: &Index,
    out: &mut Heads<bf16>,
) {
    score = score * scale + 0.125 * (key - query);
}

/// The widest heads, in pages.
#[autokernel::attention(causal, head_dim = 256, page = 32)]
pub fn widest_paged(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    pages: &PageTable,
    lengths: &Index,
    out: &mut Heads<bf16>,
);

/// Heads of 192, in pages.
#[autokernel::attention(head_dim = 192, page = 64)]
pub fn broad_paged(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    pages: &PageTable,
    lengths: &Index,
    out: &mut Heads<bf16>,
);

/// Heads of 192 with values of 128, in pages.
#[autokernel::attention(causal, head_dim = 192, value_dim = 128, page = 64)]
pub fn deep_paged(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    pages: &PageTable,
    lengths: &Index,
    out: &mut Heads<bf16>,
);

/// Packed queries on keys that the device counts, with the logarithm of each sum.
#[autokernel::attention(causal, head_dim = 64)]
pub fn ragged(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    query_bounds: &Index,
    lengths: &Index,
    out: &mut Heads<bf16>,
    log_sum_exp: &mut Heads<f32>,
);

/// Packed f16, with the logarithm of each sum.
#[autokernel::attention(head_dim = 128)]
pub fn packed_sums(
    q: &Heads<f16>,
    k: &Heads<f16>,
    v: &Heads<f16>,
    query_bounds: &Index,
    key_bounds: &Index,
    out: &mut Heads<f16>,
    log_sum_exp: &mut Heads<f32>,
);

/// A cap, a slope of each head and a number of each sequence on the widest heads in pages, with the logarithm of each sum.
#[autokernel::attention(causal, head_dim = 256, page = 16)]
pub fn capped_paged(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    pages: &PageTable,
    lengths: &Index,
    slope: &PerHead<f32>,
    cap: f32,
    out: &mut Heads<bf16>,
    log_sum_exp: &mut Heads<f32>,
) {
    let capped = cap * (score * scale / cap).tanh();
    score = capped + slope * (key - query) / (1.0 + batch);
}

/// A body that hides keys from those that the device counts, of heads of 192.
#[autokernel::attention(head_dim = 192)]
pub fn chosen(
    q: &Heads<f16>,
    k: &Heads<f16>,
    v: &Heads<f16>,
    lengths: &Index,
    first: f32,
    out: &mut Heads<f16>,
    log_sum_exp: &mut Heads<f32>,
) {
    score = if key < first || query - key < 20.0 { score * scale } else { -1e30 };
}

/// A bias by distance, as T5's, and a factor in device memory.
#[autokernel::attention(head_dim = 64)]
pub fn relative(
    q: &Heads<bf16>,
    k: &Heads<bf16>,
    v: &Heads<bf16>,
    factor: &Scalar<f32>,
    bias: &PerDistance<f32>,
    out: &mut Heads<bf16>,
) {
    score = factor * score * scale + bias;
}

/// The same in pages, with a slope that numbers by distance choose.
#[autokernel::attention(causal, head_dim = 128, page = 16)]
pub fn relative_paged(
    q: &Heads<f16>,
    k: &Heads<f16>,
    v: &Heads<f16>,
    pages: &PageTable,
    lengths: &Index,
    factor: &Scalar<f32>,
    bias: &PerDistance<f32>,
    slope: &PerHead<f32>,
    out: &mut Heads<f16>,
    log_sum_exp: &mut Heads<f32>,
) {
    let near = if bias > 0.0 { bias } else { slope * bias };
    score = factor * (score * scale + near);
}
