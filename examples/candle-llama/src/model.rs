//! The decoder: embedding, blocks of attention and feed-forward with their residuals, a head on the vocabulary.

use std::cell::RefCell;

use candle_core::{D, DType, Device, Result, Tensor};

use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::operations::{Masks, Operations};

/// A decoder whose weights are on a device.
pub struct Model {
    config: Config,
    operations: Operations,
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Tensor,
    /// Cosines and sines of the rotary embedding at every place.
    rotation: (Tensor, Tensor),
    masks: RefCell<Masks>,
}

struct Layer {
    norm: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    norm_after: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
}

/// Keys and values of the tokens so far, for each layer.
#[derive(Clone, Default)]
pub struct Cache {
    layers: Vec<(Tensor, Tensor)>,
    tokens: usize,
}

impl Model {
    pub fn new(config: Config, checkpoint: &Checkpoint, operations: Operations) -> Result<Self> {
        let layer = |number: usize| {
            let weight = |name: &str| checkpoint.weight(&format!("model.layers.{number}.{name}"));
            Ok(Layer {
                norm: weight("input_layernorm")?,
                q: weight("self_attn.q_proj")?,
                k: weight("self_attn.k_proj")?,
                v: weight("self_attn.v_proj")?,
                o: weight("self_attn.o_proj")?,
                norm_after: weight("post_attention_layernorm")?,
                gate: weight("mlp.gate_proj")?,
                up: weight("mlp.up_proj")?,
                down: weight("mlp.down_proj")?,
            })
        };
        let embedding = checkpoint.weight("model.embed_tokens")?;
        Ok(Model {
            config,
            operations,
            rotation: rotation(&config, embedding.device(), embedding.dtype())?,
            masks: RefCell::default(),
            embedding,
            layers: (0..config.layers).map(layer).collect::<Result<_>>()?,
            norm: checkpoint.weight("model.norm")?,
            head: checkpoint.weight("lm_head")?,
        })
    }

    /// The logits of what follows the last of `tokens`, `[batch, vocabulary]`, where `tokens: [batch, count]` come behind those in `cache`.
    pub fn forward(&self, tokens: &Tensor, cache: &mut Cache) -> Result<Tensor> {
        let (operations, eps) = (self.operations, self.config.eps);
        let (batch, count) = tokens.dims2()?;
        let (cos, sin) = &self.rotation;
        let rotation = (cos.narrow(0, cache.tokens, count)?, sin.narrow(0, cache.tokens, count)?);
        let (keys, masks) = (cache.tokens + count, &mut *self.masks.borrow_mut());
        let mask = operations.mask(count, keys, masks, tokens.device())?;
        let ids = tokens.flatten_all()?;
        let mut x = self.embedding.index_select(&ids, 0)?.reshape((batch, count, self.config.hidden))?;
        let first = self.layers.first().map_or(&self.norm, |layer| &layer.norm);
        let mut normed = operations.norm(&x, first, eps)?;
        for (number, layer) in self.layers.iter().enumerate() {
            let attended = self.attend(number, layer, &normed, &rotation, mask.as_ref(), cache)?;
            let (sum, of_sum) = operations.add_norm(&attended, &x, &layer.norm_after, eps)?;
            let gated = operations.gated(&of_sum, &layer.gate, &layer.up)?;
            let next = self.layers.get(number + 1).map_or(&self.norm, |layer| &layer.norm);
            (x, normed) = operations.add_norm(&operations.linear(&gated, &layer.down)?, &sum, next, eps)?;
        }
        cache.tokens += count;
        let last = normed.narrow(1, count - 1, 1)?.squeeze(1)?;
        operations.linear(&last, &self.head)?.to_dtype(DType::F32)
    }

    fn attend(
        &self,
        number: usize,
        layer: &Layer,
        x: &Tensor,
        (cos, sin): &(Tensor, Tensor),
        mask: Option<&Tensor>,
        cache: &mut Cache,
    ) -> Result<Tensor> {
        let Config { heads, groups, head_dim, .. } = self.config;
        let (batch, count, _) = x.dims3()?;
        let projected = |weight: &Tensor, heads: usize| {
            self.operations.linear(x, weight)?.reshape((batch, count, heads, head_dim))?.transpose(1, 2)?.contiguous()
        };
        let rotated = |x: Tensor| candle_nn::rotary_emb::rope(&x, cos, sin);
        let q = rotated(projected(&layer.q, heads)?)?;
        let (k, v) = (rotated(projected(&layer.k, groups)?)?, projected(&layer.v, groups)?);
        let (k, v) = match cache.layers.get(number) {
            None => (k, v),
            Some((keys, values)) => (Tensor::cat(&[keys, &k], 2)?, Tensor::cat(&[values, &v], 2)?),
        };
        let kept = (k.clone(), v.clone());
        match cache.layers.get_mut(number) {
            Some(layer) => *layer = kept,
            None => cache.layers.push(kept),
        }
        let attended = self.operations.attention(&q, &k, &v, mask)?;
        self.operations.linear(&attended.transpose(1, 2)?.reshape((batch, count, heads * head_dim))?, &layer.o)
    }
}

/// Cosines and sines of the rotary embedding, `[places, half of a head]`.
fn rotation(config: &Config, device: &Device, dtype: DType) -> Result<(Tensor, Tensor)> {
    let (half, places) = (config.head_dim / 2, config.places);
    let frequency = |pair: usize| config.theta.powf(-(pair as f32) / half as f32);
    let angles = (0..places * half).map(|at| (at / half) as f32 * frequency(at % half));
    let angles = Tensor::from_iter(angles, device)?.reshape((places, half))?;
    Ok((angles.cos()?.to_dtype(dtype)?, angles.sin()?.to_dtype(dtype)?))
}

/// The likeliest token of each of a batch, `[batch, 1]`.
pub fn likeliest(logits: &Tensor) -> Result<Tensor> {
    logits.argmax(D::Minus1)?.unsqueeze(1)
}
