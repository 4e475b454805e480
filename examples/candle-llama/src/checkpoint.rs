//! Checkpoints in safetensors, under the names that Llama's have, with random weights.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{DType, Device, Result, Tensor};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::config::Config;

/// Weights by their names.
pub struct Checkpoint(HashMap<String, Tensor>);

/// Writes random weights in bf16, the same for the same seed, that keep the variance of what passes through them.
pub fn write(path: &Path, config: &Config, seed: u64) -> Result<()> {
    let mut row_of_all = 0;
    let mut normal = |rows: usize, columns: usize, deviation: f32| {
        // Each row has a seed of its own, so that all cores draw: there are a billion numbers.
        let first = row_of_all;
        row_of_all += rows as u64;
        let mut values = vec![0f32; rows * columns];
        values.par_chunks_mut(columns).enumerate().for_each(|(row, values)| {
            let mut random = StdRng::seed_from_u64(seed << 32 | (first + row as u64));
            for value in values {
                let drawn: f32 = StandardNormal.sample(&mut random);
                *value = drawn * deviation;
            }
        });
        Tensor::from_vec(values, (rows, columns), &Device::Cpu)?.to_dtype(DType::BF16)
    };
    let &Config { vocabulary, hidden, heads, groups, head_dim, feed_forward, .. } = config;
    let ones = || Tensor::ones(hidden, DType::BF16, &Device::Cpu);
    let mut tensors = HashMap::from([
        ("model.embed_tokens.weight".to_owned(), normal(vocabulary, hidden, 1.0)?),
        ("model.norm.weight".to_owned(), ones()?),
        ("lm_head.weight".to_owned(), normal(vocabulary, hidden, (hidden as f32).powf(-0.5))?),
    ]);
    for layer in 0..config.layers {
        for (name, out, within) in [
            ("self_attn.q_proj", heads * head_dim, hidden),
            ("self_attn.k_proj", groups * head_dim, hidden),
            ("self_attn.v_proj", groups * head_dim, hidden),
            ("self_attn.o_proj", hidden, heads * head_dim),
            ("mlp.gate_proj", feed_forward, hidden),
            ("mlp.up_proj", feed_forward, hidden),
            ("mlp.down_proj", hidden, feed_forward),
        ] {
            let weight = normal(out, within, (within as f32).powf(-0.5))?;
            tensors.insert(format!("model.layers.{layer}.{name}.weight"), weight);
        }
        for name in ["input_layernorm", "post_attention_layernorm"] {
            tensors.insert(format!("model.layers.{layer}.{name}.weight"), ones()?);
        }
    }
    candle_core::safetensors::save(&tensors, path)
}

impl Checkpoint {
    /// Reads all of it to `device`, as elements of `dtype`.
    pub fn read(path: &Path, device: &Device, dtype: DType) -> Result<Self> {
        let tensors = candle_core::safetensors::load(path, device)?;
        let converted = tensors.into_iter().map(|(name, tensor)| Ok((name, tensor.to_dtype(dtype)?)));
        converted.collect::<Result<_>>().map(Self)
    }

    /// The weight called `name`.
    pub fn weight(&self, name: &str) -> Result<Tensor> {
        let name = format!("{name}.weight");
        let missing = || candle_core::Error::Msg(format!("the checkpoint has no `{name}`"));
        self.0.get(&name).cloned().ok_or_else(missing)
    }
}
