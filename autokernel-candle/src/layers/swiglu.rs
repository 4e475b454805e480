//! The gated half of a transformer's feed-forward block.

use candle_core::{Module, Result, Tensor};

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
