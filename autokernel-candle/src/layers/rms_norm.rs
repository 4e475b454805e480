//! `candle_nn::RmsNorm`.

use candle_core::{Module, Result, Tensor};
use candle_nn::VarBuilder;

use crate::ops::{add_rms_norm, rms_norm};

/// x / √(mean(x²) + eps) · weight, as [`candle_nn::RmsNorm`]; see [`rms_norm`](fn@rms_norm).
#[derive(Clone, Debug)]
pub struct RmsNorm {
    weight: Tensor,
    eps: f64,
}

impl RmsNorm {
    /// A norm of `weight: [n]`.
    pub const fn new(weight: Tensor, eps: f64) -> Self {
        RmsNorm { weight, eps }
    }

    /// The norm of a model's `weight`, as [`candle_nn::rms_norm`] reads it.
    ///
    /// # Errors
    /// What the model does not have, or in another shape.
    pub fn load(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<Self> {
        candle_nn::rms_norm(size, eps, vb).map(RmsNorm::from)
    }

    /// The weight, `[n]`.
    pub const fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// `x + skip`, and the norm of it: one kernel for what stands between two blocks of a transformer.
    ///
    /// # Errors
    /// As [`add_rms_norm`].
    pub fn forward_sum(&self, x: &Tensor, skip: &Tensor) -> Result<(Tensor, Tensor)> {
        add_rms_norm(x, skip, &self.weight, self.eps as f32)
    }
}

impl From<candle_nn::RmsNorm> for RmsNorm {
    fn from(norm: candle_nn::RmsNorm) -> Self {
        RmsNorm::new(norm.weight().clone(), norm.eps())
    }
}

impl Module for RmsNorm {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        rms_norm(x, &self.weight, self.eps as f32)
    }
}
