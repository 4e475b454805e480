//! The residual stream between layers.

use autokernel::{Column, Device, Matrix, Result, bf16};

use crate::kernels::scale_of;
use crate::sizes::EPS;

/// Tokens between two layers, and what the norm behind them multiplies each by.
pub struct Stream {
    /// A token a row.
    pub x: Matrix<bf16>,
    /// `1 / √(mean(x²) + eps)` of each.
    pub scale: Column<f32>,
}

impl Stream {
    /// So many tokens of zeros, for a layer to write.
    ///
    /// # Errors
    /// The device's memory does not suffice.
    pub fn zeros(device: &Device, tokens: usize, features: usize) -> Result<Self> {
        Ok(Self { x: Matrix::zeros(device, tokens, features)?, scale: Column::zeros(device, tokens)? })
    }

    /// Tokens that no layer gave.
    ///
    /// # Errors
    /// The device's memory does not suffice, or the launch fails.
    pub fn new(x: Matrix<bf16>) -> Result<Self> {
        let mut scale = Column::zeros(&x.device(), x.nrows())?;
        scale_of(&x, EPS, &mut scale)?;
        Ok(Self { x, scale })
    }
}
