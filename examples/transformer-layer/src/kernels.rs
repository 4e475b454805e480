//! The kernels of the layer. A norm has none: `x / √(mean(x²) + eps) · weight · Wᵀ` is `scale · (x · W'ᵀ)`, with the norm's weight in the
//! columns of `W'` and a scale for each token, which the product before it has reduced.

use autokernel::{Column, Heads, Index, Matrix, bf16, f16};

/// Queries, keys and values of normed tokens.
#[autokernel::fused_matmul]
pub fn project(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, qkv: &mut Matrix<bf16>) {
    qkv = scale * dot(x, w.t());
}

/// Rotary embeddings, and what is appended to the cache. A token's `qkv` is some rows as wide as its keys: several of queries, one of
/// keys and one of values, which has no position. An index has a number where its rows are meant.
#[autokernel::rows]
pub fn rotate(
    qkv: &Matrix<bf16>,
    cosines: &Matrix<f16>,
    sines: &Matrix<f16>,
    positions: &Index,
    to_queries: &Index,
    to_cache: &Index,
    queries: &mut Matrix<bf16>,
    cache: &mut Matrix<bf16>,
) {
    let rotated = qkv * repeat_columns(cosines[positions]) + rotate_half(qkv, 128) * repeat_columns(sines[positions]);
    queries[to_queries] = rotated;
    cache[to_cache] = if positions >= 0.0 { rotated } else { qkv };
}

/// The tokens of a prompt, each to those up to itself.
#[autokernel::attention(causal, head_dim = 128)]
pub fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);

/// A token of each sequence, to as many as the sequence has.
#[autokernel::attention(causal, head_dim = 128)]
pub fn attend_step(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, lengths: &Index, out: &mut Heads<bf16>);

/// Back onto the residual stream, and the scale of the norm that follows.
#[autokernel::fused_matmul]
pub fn add(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    skip: &Matrix<bf16>,
    eps: f32,
    out: &mut Matrix<bf16>,
    scale: &mut Column<f32>,
) {
    let y = skip + dot(x, w.t());
    out = y;
    scale = 1.0 / (row_mean(y * y) + eps).sqrt();
}

/// Back onto the residual stream alone: of a few tokens [`scale_of`] behind it takes less time than bringing together what a product
/// has reduced.
#[autokernel::fused_matmul]
pub fn add_few(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = skip + dot(x, w.t());
}

/// SwiGLU of normed tokens.
#[autokernel::fused_matmul]
pub fn gate(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, scale: &Column<f32>, hidden: &mut Matrix<bf16>) {
    hidden = silu(scale * dot(x, gate.t())) * (scale * dot(x, up.t()));
}

/// The scale of the norm of what no layer gave, as embeddings, and of a few tokens.
#[autokernel::rows]
pub fn scale_of(x: &Matrix<bf16>, eps: f32, scale: &mut Column<f32>) {
    scale = 1.0 / (row_mean(x * x) + eps).sqrt();
}
