//! What a decoder of this family is made of.

use clap::ValueEnum;

/// Sizes by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Preset {
    /// 3 million weights: for the CPU.
    Small,
    /// 1.2 billion weights, the sizes of Llama 3.2 1B: for a GPU.
    Large,
}

/// The sizes of a decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    pub vocabulary: usize,
    pub hidden: usize,
    pub layers: usize,
    /// Of queries.
    pub heads: usize,
    /// Heads of keys and values, of which `heads` is a multiple.
    pub groups: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Width of the gated half of a feed-forward block.
    pub feed_forward: usize,
    /// Of the norms.
    pub eps: f64,
    /// The base of the rotary embedding's wavelengths.
    pub theta: f32,
    /// Tokens that a sequence may have.
    pub places: usize,
}

impl Preset {
    pub const fn config(self) -> Config {
        match self {
            Preset::Small => Config {
                vocabulary: 1000,
                hidden: 256,
                layers: 4,
                heads: 4,
                groups: 2,
                head_dim: 64,
                feed_forward: 704,
                eps: 1e-5,
                theta: 10_000.0,
                places: 2048,
            },
            Preset::Large => Config {
                vocabulary: 32_000,
                hidden: 2048,
                layers: 16,
                heads: 32,
                groups: 8,
                head_dim: 64,
                feed_forward: 8192,
                eps: 1e-5,
                theta: 500_000.0,
                places: 8192,
            },
        }
    }
}
