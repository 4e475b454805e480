//! The gated half of a transformer's feed-forward block.

use candle_core::{Module, Result, Tensor};
use candle_nn::VarBuilder;

use crate::ops::swiglu;

/// silu(x · gateᵀ) · (x · upᵀ); see [`swiglu`](fn@swiglu).
#[derive(Clone, Debug)]
pub struct SwiGlu {
    gate: Tensor,
    up: Tensor,
}

impl SwiGlu {
    /// A layer of two weights of `[out, in]`.
    pub const fn new(gate: Tensor, up: Tensor) -> Self {
        SwiGlu { gate, up }
    }

    /// The layer of a model's `gate_proj.weight` and `up_proj.weight`, as Llama and its kin name them.
    ///
    /// ```
    /// use autokernel_candle::SwiGlu;
    /// use candle_core::{DType, Device};
    /// use candle_nn::{VarBuilder, VarMap};
    ///
    /// # fn main() -> candle_core::Result<()> {
    /// let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, &Device::Cpu);
    /// let layer = SwiGlu::load(64, 96, vb.pp("mlp"))?;
    /// assert_eq!(layer.weights().map(|weight| weight.dims2().unwrap()), [(96, 64); 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What the model does not have, or in another shape.
    pub fn load(in_dim: usize, out_dim: usize, vb: VarBuilder<'_>) -> Result<Self> {
        let weight =
            |name| -> Result<Tensor> { Ok(candle_nn::linear_no_bias(in_dim, out_dim, vb.pp(name))?.weight().clone()) };
        Ok(SwiGlu::new(weight("gate_proj")?, weight("up_proj")?))
    }

    /// The weights, of the gate and of what it gates.
    pub const fn weights(&self) -> [&Tensor; 2] {
        [&self.gate, &self.up]
    }
}

impl Module for SwiGlu {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        swiglu(x, &self.gate, &self.up)
    }
}
