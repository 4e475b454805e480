//! The derivatives of the built-in epilogues, each written once, for bodies of backward passes.
//!
//! As `builtin.rs`, this file is Rust that is compiled, text that is translated to CUDA, and tokens; it may hold only what the
//! translator understands. Each function is called as the epilogue whose derivative it is, and takes what that takes: the element
//! before the epilogue. Forms are chosen so that nothing overflows where the derivative is finite: what a tree's rules of
//! differentiation give of `x / (1 + e⁻ˣ)` is no number below −88.

use autokernel_core::erf;

/// `1` where `x` is positive, `0` elsewhere; of a NaN 1, as PyTorch has it.
pub fn relu_derivative(x: f32) -> f32 {
    if x <= 0.0 { 0.0 } else { 1.0 }
}

/// `1` where `x` is positive, `negative_slope` elsewhere.
pub fn leaky_relu_derivative(x: f32, negative_slope: f32) -> f32 {
    if x <= 0.0 { negative_slope } else { 1.0 }
}

/// `Φ(x) + x · φ(x)`, of the normal distribution.
pub fn gelu_derivative(x: f32) -> f32 {
    const SQRT_HALF: f32 = 0.707_106_77;
    const DENSITY: f32 = 0.398_942_3;
    0.5 * (1.0 + erf(SQRT_HALF * x)) + x * DENSITY * (-0.5 * x * x).exp()
}

/// `½ (1 + t) + ½ · x · (1 − t²) · u'` with `t = tanh(u)` and `u = √(2/π) · (x + 0.044715 · x³)`.
pub fn gelu_tanh_derivative(x: f32) -> f32 {
    const SQRT_2_OVER_PI: f32 = 0.797_884_6;
    const CUBIC: f32 = 0.044_715;
    let squared = (x * x).min(1e8);
    let t = (SQRT_2_OVER_PI * (x + CUBIC * x * x * x)).tanh();
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * SQRT_2_OVER_PI * (1.0 + 3.0 * CUBIC * squared)
}

/// `s · (1 + x · (1 − s))` with `s = sigmoid(x)`.
pub fn silu_derivative(x: f32) -> f32 {
    let s = 1.0 / (1.0 + (-x).exp());
    s * (1.0 + x * (1.0 - s))
}

/// `1 − tanh²(x)`
pub fn tanh_derivative(x: f32) -> f32 {
    let t = x.tanh();
    1.0 - t * t
}

/// `s · (1 − s)` with `s = sigmoid(x)`.
pub fn sigmoid_derivative(x: f32) -> f32 {
    let s = 1.0 / (1.0 + (-x).exp());
    s * (1.0 - s)
}
