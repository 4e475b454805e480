//! The operations of a decoder that may run by candle or by kernels of this crate's build.

use std::collections::HashMap;

use autokernel_candle::{Mask, ops};
use candle_core::{D, DType, Device, Module, Result, Tensor};

/// Who computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    /// candle's own operations, as its models use them.
    Candle,
    /// autokernel's kernels.
    Kernels,
}

impl Operations {
    /// x · wᵀ
    pub fn linear(self, x: &Tensor, w: &Tensor) -> Result<Tensor> {
        match self {
            // candle multiplies rows that lie apart on the CPU alone.
            Operations::Candle => candle_nn::Linear::new(w.clone(), None).forward(&x.contiguous()?),
            Operations::Kernels => ops::linear(x, w, None, ops::Activation::Identity),
        }
    }

    /// The RMS norm of the last axis.
    pub fn norm(self, x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
        match self {
            Operations::Candle => candle_nn::ops::rms_norm(&x.contiguous()?, weight, eps as f32),
            Operations::Kernels => ops::rms_norm(x, weight, eps as f32),
        }
    }

    /// The sum of both, and its norm.
    pub fn add_norm(self, x: &Tensor, skip: &Tensor, weight: &Tensor, eps: f64) -> Result<(Tensor, Tensor)> {
        match self {
            Operations::Candle => {
                let sum = (x + skip)?;
                let normed = self.norm(&sum, weight, eps)?;
                Ok((sum, normed))
            }
            Operations::Kernels => ops::add_rms_norm(x, skip, weight, eps as f32),
        }
    }

    /// silu(x · gateᵀ) · (x · upᵀ)
    pub fn gated(self, x: &Tensor, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
        match self {
            Operations::Candle => self.linear(x, gate)?.silu()? * self.linear(x, up)?,
            Operations::Kernels => ops::swiglu(x, gate, up),
        }
    }

    /// Which scores are hidden from `queries` that end where `keys` end, where they are computed one by one and any is: made once for each
    /// length, as candle's Llama does.
    pub fn mask(self, queries: usize, keys: usize, masks: &mut Masks, device: &Device) -> Result<Option<Tensor>> {
        if self == Operations::Kernels || queries == 1 {
            return Ok(None);
        }
        let mask = match masks.get(&[queries, keys]) {
            Some(known) => known.clone(),
            None => {
                let is_hidden = |at: usize| u8::from(at % keys + queries > at / keys + keys);
                let mask = Tensor::from_iter((0..queries * keys).map(is_hidden), device)?.reshape((queries, keys))?;
                masks.insert([queries, keys], mask.clone());
                mask
            }
        };
        Ok(Some(mask))
    }

    /// Causal attention of `[batch, heads, queries, d]` on `[batch, groups, keys, d]`, with what [`Operations::mask`] gave.
    pub fn attention(self, q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
        match self {
            Operations::Candle => attention(q, k, v, mask),
            Operations::Kernels => autokernel_candle::attention(q, k, v, Mask::Causal),
        }
    }
}

/// Masks by numbers of queries and keys.
pub type Masks = HashMap<[usize; 2], Tensor>;

/// As candle's Llama has it, but that products are of the tensors' own type.
fn attention(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    let (batch, heads, _, dim) = q.dims4()?;
    let (_, groups, keys, _) = k.dims4()?;
    let repeated = |x: &Tensor| {
        let each = (batch, groups, heads / groups, keys, dim);
        x.unsqueeze(2)?.expand(each)?.reshape((batch, heads, keys, dim))
    };
    let scores = (q.contiguous()?.matmul(&repeated(k)?.t()?)?.to_dtype(DType::F32)? / (dim as f64).sqrt())?;
    let scores = match mask {
        None => scores,
        Some(mask) => {
            let hidden = Tensor::new(f32::NEG_INFINITY, scores.device())?.broadcast_as(scores.shape())?;
            mask.broadcast_as(scores.shape())?.where_cond(&hidden, &scores)?
        }
    };
    let weights = candle_nn::ops::softmax_last_dim(&scores)?.to_dtype(v.dtype())?;
    debug_assert_eq!(weights.dim(D::Minus1)?, keys);
    weights.matmul(&repeated(v)?.contiguous()?)
}
