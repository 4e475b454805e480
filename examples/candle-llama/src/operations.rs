//! The operations of a decoder that may run by candle or by kernels of this crate's build.

use autokernel_candle::{Mask, ops};
use candle_core::{D, DType, Module, Result, Tensor};

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
            Operations::Candle => candle_nn::Linear::new(w.clone(), None).forward(x),
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

    /// Causal attention of `[batch, heads, queries, d]` on `[batch, groups, keys, d]`.
    pub fn attention(self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        match self {
            Operations::Candle => attention(q, k, v),
            Operations::Kernels => autokernel_candle::attention(q, k, v, Mask::Causal),
        }
    }
}

/// As candle's Llama has it.
fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (batch, heads, queries, dim) = q.dims4()?;
    let (_, groups, keys, _) = k.dims4()?;
    let repeated = |x: &Tensor| {
        let each = (batch, groups, heads / groups, keys, dim);
        x.unsqueeze(2)?.expand(each)?.reshape((batch, heads, keys, dim))
    };
    let scores = (q.contiguous()?.matmul(&repeated(k)?.t()?)?.to_dtype(DType::F32)? / (dim as f64).sqrt())?;
    let scores = if queries == 1 { scores } else { scores.broadcast_add(&hidden(queries, keys, q)?)? };
    let weights = candle_nn::ops::softmax_last_dim(&scores)?.to_dtype(v.dtype())?;
    debug_assert_eq!(weights.dim(D::Minus1)?, keys);
    weights.matmul(&repeated(v)?.contiguous()?)
}

/// −∞ where a query does not see a key, else 0.
fn hidden(queries: usize, keys: usize, like: &Tensor) -> Result<Tensor> {
    let value = |at: usize| if at % keys + queries <= at / keys + keys { 0f32 } else { f32::NEG_INFINITY };
    Tensor::from_iter((0..queries * keys).map(value), like.device())?.reshape((queries, keys))
}
