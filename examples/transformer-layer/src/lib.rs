//! A layer of a transformer in bf16, as a decoder has it: norm, queries, keys and values with rotary embeddings, attention on a cache,
//! projection, residual, norm, SwiGLU, projection, residual. Its kernels stand in [`kernels`].
#![forbid(unsafe_code)]

pub mod cache;
pub mod check;
pub mod kernels;
pub mod layer;
pub mod reference;
pub mod sizes;
pub mod stream;
pub mod weights;
