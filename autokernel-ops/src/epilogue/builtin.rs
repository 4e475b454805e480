//! The built-in epilogues, each written once.
//!
//! This file is three things at once: Rust that is compiled (the CPU reference), text that the translator turns
//! into CUDA, and tokens that the attribute re-emits into the user's crate. So it may hold only what the translator
//! understands: functions from `f32` to `f32`, whose parameters after the first have a default in `super::DEFAULTS`.
//! What they call that is no method of `f32` is imported; the re-emitted tokens bring their own import.
//!
//! Names and forms are PyTorch's. A NaN stays a NaN through each of them.

use autokernel_core::erf;

/// `x`
pub fn identity(x: f32) -> f32 {
    x
}

/// `max(x, 0)`
pub fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// `x` where it is positive, `negative_slope · x` elsewhere (Maas et al. 2013).
pub fn leaky_relu(x: f32, negative_slope: f32) -> f32 {
    if x < 0.0 { negative_slope * x } else { x }
}

/// `½ · x · (1 + erf(x / √2))`: GELU (Hendrycks and Gimpel 2016, section 2), PyTorch's default.
pub fn gelu(x: f32) -> f32 {
    const SQRT_HALF: f32 = 0.707_106_77;
    0.5 * x * (1.0 + erf(SQRT_HALF * x))
}

/// `½ · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))`: GELU in the tanh form (Hendrycks and Gimpel 2016, section 2),
/// PyTorch's `approximate='tanh'`, the one that cuBLASLt and GPT-2 use.
pub fn gelu_tanh(x: f32) -> f32 {
    const SQRT_2_OVER_PI: f32 = 0.797_884_6;
    const CUBIC: f32 = 0.044_715;
    0.5 * x * (1.0 + (SQRT_2_OVER_PI * (x + CUBIC * x * x * x)).tanh())
}

/// `x · sigmoid(x)`, also called swish (Elfwing et al. 2017).
pub fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

/// `tanh(x)`
pub fn tanh(x: f32) -> f32 {
    x.tanh()
}

/// `1 / (1 + e⁻ˣ)`
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
