//! Attention, for the sizes of heads that most models have.

use autokernel::{Heads, bf16, f16};

/// softmax(q kᵀ / √64) v, each query seeing the keys up to its own place; both are aligned at their ends.
#[autokernel::attention(T = [bf16, f16], causal, head_dim = 64)]
pub fn causal_64<T>(q: &Heads<T>, k: &Heads<T>, v: &Heads<T>, out: &mut Heads<T>);

/// softmax(q kᵀ / √128) v, each query seeing the keys up to its own place; both are aligned at their ends.
#[autokernel::attention(T = [bf16, f16], causal, head_dim = 128)]
pub fn causal_128<T>(q: &Heads<T>, k: &Heads<T>, v: &Heads<T>, out: &mut Heads<T>);

/// softmax(q kᵀ / √64) v
#[autokernel::attention(T = [bf16, f16], head_dim = 64)]
pub fn full_64<T>(q: &Heads<T>, k: &Heads<T>, v: &Heads<T>, out: &mut Heads<T>);

/// softmax(q kᵀ / √128) v
#[autokernel::attention(T = [bf16, f16], head_dim = 128)]
pub fn full_128<T>(q: &Heads<T>, k: &Heads<T>, v: &Heads<T>, out: &mut Heads<T>);
