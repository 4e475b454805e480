//! How fast tensor cores are.

use crate::Dtype;

/// Dense peak rates of the tensor cores with `f32` sums, in 10¹² FLOP/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// bf16 inputs; `None` before Ampere, whose tensor cores do not take them.
    pub bf16_tflops: Option<f64>,
    /// f16 inputs.
    pub f16_tflops: f64,
    /// f32 inputs rounded to tf32; `None` before Ampere.
    pub tf32_tflops: Option<f64>,
    /// Inputs of 8-bit floats; `None` before Ada.
    pub fp8_tflops: Option<f64>,
}

impl Peak {
    pub(super) const fn new(half: f64, tf32: f64) -> Self {
        Self { bf16_tflops: Some(half), f16_tflops: half, tf32_tflops: Some(tf32), fp8_tflops: None }
    }

    /// From Ada on 8-bit floats are multiplied at twice the rate of 16-bit ones.
    pub(super) const fn with_fp8(half: f64, tf32: f64) -> Self {
        Self { fp8_tflops: Some(2.0 * half), ..Self::new(half, tf32) }
    }

    /// The peak for inputs of that type; f32 stands for tf32, and `i8` has the rate of 8-bit
    /// floats, as on Hopper (a GeForce of Ada has twice as much). `None` if the tensor cores do not take them.
    pub fn of(&self, input: Dtype) -> Option<f64> {
        match input {
            Dtype::Bf16 => self.bf16_tflops,
            Dtype::F16 => Some(self.f16_tflops),
            Dtype::F32 => self.tf32_tflops,
            Dtype::E4m3 | Dtype::E5m2 | Dtype::I8 => self.fp8_tflops,
            Dtype::I4x2 | Dtype::I32 => None,
        }
    }
}
