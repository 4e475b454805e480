//! `candle_nn::Linear`, in one kernel.

use candle_core::{Module, Result, Tensor};
use candle_nn::VarBuilder;

use crate::ops::{Activation, linear};

/// `activation(x · wᵀ + bias)`, as [`candle_nn::Linear`] and an activation behind it; see [`linear`](fn@linear).
///
/// ```
/// use autokernel_candle::{Activation, Linear};
/// use candle_core::{DType, Device, Module, Tensor};
///
/// # fn main() -> candle_core::Result<()> {
/// let weight = Tensor::new(&[[1f32, 2.0], [-3.0, 4.0]], &Device::Cpu)?.to_dtype(DType::BF16)?;
/// let layer = Linear::from(candle_nn::Linear::new(weight, None)).with_activation(Activation::Relu);
/// let x = Tensor::new(&[[10f32, 1.0]], &Device::Cpu)?.to_dtype(DType::BF16)?;
/// assert_eq!(layer.forward(&x)?.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[12.0, 0.0]]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
    activation: Activation,
}

impl Linear {
    /// A layer of `weight: [out, in]` and `bias: [out]`.
    pub const fn new(weight: Tensor, bias: Option<Tensor>) -> Self {
        Linear { weight, bias, activation: Activation::Identity }
    }

    /// The layer of a model's `weight` and `bias`, as [`candle_nn::linear()`] reads them.
    ///
    /// # Errors
    /// What the model does not have, or in another shape.
    pub fn load(in_dim: usize, out_dim: usize, vb: VarBuilder<'_>) -> Result<Self> {
        candle_nn::linear(in_dim, out_dim, vb).map(Linear::from)
    }

    /// The layer of a model's `weight`, as [`candle_nn::linear_no_bias`] reads it.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_no_bias(in_dim: usize, out_dim: usize, vb: VarBuilder<'_>) -> Result<Self> {
        candle_nn::linear_no_bias(in_dim, out_dim, vb).map(Linear::from)
    }

    /// The same with what follows it.
    #[must_use]
    pub fn with_activation(self, activation: Activation) -> Self {
        Linear { activation, ..self }
    }

    /// The weight, `[out, in]`.
    pub const fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The bias, `[out]`.
    pub const fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }
}

impl From<candle_nn::Linear> for Linear {
    fn from(layer: candle_nn::Linear) -> Self {
        Linear::new(layer.weight().clone(), layer.bias().cloned())
    }
}

impl Module for Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        linear(x, &self.weight, self.bias.as_ref(), self.activation)
    }
}
