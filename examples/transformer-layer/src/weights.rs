//! The weights of a layer on the host, as a checkpoint has them.

use autokernel::bf16;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::sizes::Sizes;

/// The weights of a layer; matrices are `[out, in]`, row by row.
pub struct Weights {
    /// Of the norm before attention.
    pub attention_norm: Vec<f32>,
    /// Of queries, keys and values, one below the other.
    pub qkv: Vec<bf16>,
    /// Of the projection behind attention.
    pub output: Vec<bf16>,
    /// Of the norm before the feed-forward half.
    pub feed_forward_norm: Vec<f32>,
    /// Of the gate, and of what it gates below it.
    pub gate_and_up: Vec<bf16>,
    /// Of the product that leads back.
    pub down: Vec<bf16>,
}

impl Weights {
    /// Random ones that keep the variance of what passes through them.
    pub fn random(sizes: Sizes, seed: u64) -> Self {
        let Sizes { features, hidden, .. } = sizes;
        let mut rng = StdRng::seed_from_u64(seed);
        let mut matrix = |rows: usize, columns: usize| {
            let bound = (3.0 / columns as f32).sqrt();
            (0..rows * columns).map(|_| bf16::from_f32(rng.random_range(-bound..bound))).collect()
        };
        let (qkv, output) = (matrix(sizes.of_qkv(), features), matrix(features, sizes.of_queries()));
        let (gate_and_up, down) = (matrix(2 * hidden, features), matrix(features, hidden));
        let mut norm = || (0..features).map(|_| rng.random_range(0.5..1.5)).collect();
        Self { attention_norm: norm(), qkv, output, feed_forward_norm: norm(), gate_and_up, down }
    }
}

/// A matrix whose product with `x` is that of `weights` with `norm · x`.
pub fn with_norm(weights: &[bf16], norm: &[f32]) -> Vec<bf16> {
    let of_row = |row: &[bf16]| -> Vec<bf16> {
        row.iter().zip(norm).map(|(weight, norm)| bf16::from_f32(weight.to_f32() * norm)).collect()
    };
    weights.chunks(norm.len()).flat_map(of_row).collect()
}

/// Tokens of variance 1, as the residual stream has them.
pub fn random_tokens(tokens: usize, features: usize, seed: u64) -> Vec<bf16> {
    let (mut rng, bound) = (StdRng::seed_from_u64(seed), 3f32.sqrt());
    (0..tokens * features).map(|_| bf16::from_f32(rng.random_range(-bound..bound))).collect()
}
