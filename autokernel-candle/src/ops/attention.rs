//! softmax(q kᵀ / √d) v.

use candle_core::op::BackpropOp;
use candle_core::{D, DType, Device, Storage, Tensor};

use crate::element::by_factor;
use crate::kernels::attention as kernels;
use crate::served::{is_served, is_trained};
use crate::write::{Before, written};
use crate::{Error, Result, read};

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// All of them.
    None,
    /// Those up to its own place. Queries and keys are aligned at their ends, so that a query of a decoder sees its cache.
    Causal,
}

/// softmax(q kᵀ / √d) v with `q: [batch, heads, queries, d]`, `k` and `v: [batch, groups, keys, d]`, `heads` being a multiple of
/// `groups`, which gives `[batch, heads, queries, d]`: as a view of `[batch, queries, heads, d]`, so that heads lie side by side in the row
/// of a token and `transpose(1, 2)` and a reshape copy nothing. A query that sees no key gives zeros.
///
/// One kernel for heads of 64 and 128 elements, on the CPU and on GPUs from compute capability 8.0 on, that writes no scores to
/// memory; tensors may have any strides but the last. Other heads and GPUs, and what is trained, run candle's own operations.
///
/// # Errors
/// Shapes that do not fit, and what candle or the launch says.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor, mask: Mask) -> candle_core::Result<Tensor> {
    let inputs = [q, k, v];
    let has_kernel = matches!(q.dims(), [_, _, _, 64 | 128]) && q.dim(D::Minus1)? == v.dim(D::Minus1)?;
    if has_kernel && is_served(&inputs) && !is_trained(&inputs) {
        match by_kernel([side_by_side(q)?, side_by_side(k)?, side_by_side(v)?], mask) {
            // There is none for this GPU.
            Err(Error::Kernel(autokernel::Error::WrongArch { .. })) => {}
            computed => return Ok(computed?),
        }
    }
    by_candle(q, k, v, mask)
}

/// The tensor, or a copy of it where the elements of a head have gaps.
fn side_by_side(heads: &Tensor) -> candle_core::Result<Tensor> {
    if heads.stride().last() == Some(&1) { Ok(heads.clone()) } else { heads.contiguous() }
}

fn by_kernel([q, k, v]: [Tensor; 3], mask: Mask) -> Result<Tensor> {
    let (batch, heads, queries, dim) = q.dims4()?;
    let (shape, strides) = ([batch, heads, queries, dim], [queries * heads * dim, dim, heads * dim]);
    let tokens = candle_core::Shape::from((batch, queries, heads, dim));
    let storage: Result<Storage> = by_factor!(q.dtype(), T => written::<T>(q.device(), &tokens, Before::Anything, |out| {
        let (q, k, v) = (read(&q), read(&k), read(&v));
        let (q, k, v) = (q.heads::<T>()?, k.heads::<T>()?, v.heads::<T>()?);
        let out = out.heads(shape, strides)?;
        let launched = match (mask, dim) {
            (Mask::Causal, 64) => kernels::causal_64::launch(q, k, v, out),
            (Mask::Causal, _) => kernels::causal_128::launch(q, k, v, out),
            (Mask::None, 64) => kernels::full_64::launch(q, k, v, out),
            (Mask::None, _) => kernels::full_128::launch(q, k, v, out),
        };
        Ok(launched?)
    }));
    let tensor = Tensor::from_storage(storage?, tokens, BackpropOp::none(), false);
    Ok(tensor.transpose(1, 2)?)
}

fn by_candle(q: &Tensor, k: &Tensor, v: &Tensor, mask: Mask) -> candle_core::Result<Tensor> {
    let (batch, heads, queries, dim) = q.dims4()?;
    let (_, groups, keys, _) = k.dims4()?;
    let (.., values) = v.dims4()?;
    // A softmax of nothing is NaN, and the first queries may see no key: those give zeros, as the kernel's do.
    let seeing = match mask {
        Mask::Causal => queries.min(keys),
        Mask::None if keys == 0 => 0,
        Mask::None => queries,
    };
    if seeing == 0 {
        return Tensor::zeros((batch, heads, queries, values), v.dtype(), v.device());
    }
    let q = q.narrow(2, queries - seeing, seeing)?;
    let repeated = |x: &Tensor| repeat(x, heads / groups.max(1));
    let scores = q.contiguous()?.matmul(&repeated(k)?.t()?.contiguous()?)?;
    // Scaled in f32, as the kernel does.
    let scores = (scores.to_dtype(DType::F32)? * (dim as f64).powf(-0.5))?;
    let scores = match mask {
        Mask::None => scores,
        Mask::Causal => scores.broadcast_add(&hidden(seeing, keys, q.device())?)?,
    };
    let weights = candle_nn::ops::softmax(&scores, D::Minus1)?.to_dtype(v.dtype())?;
    weights.matmul(&repeated(v)?.contiguous()?)?.pad_with_zeros(2, queries - seeing, 0)
}

/// Each group of keys for every head that shares it.
fn repeat(x: &Tensor, times: usize) -> candle_core::Result<Tensor> {
    let (batch, groups, keys, dim) = x.dims4()?;
    x.unsqueeze(2)?.expand((batch, groups, times, keys, dim))?.reshape((batch, groups * times, keys, dim))
}

/// −∞ where a query does not see a key, else 0.
fn hidden(queries: usize, keys: usize, device: &Device) -> candle_core::Result<Tensor> {
    let sees = |query: usize, key: usize| key + queries <= query + keys;
    let value = |at: usize| if sees(at / keys, at % keys) { 0f32 } else { f32::NEG_INFINITY };
    Tensor::from_iter((0..queries * keys).map(value), device)?.reshape((queries, keys))
}
