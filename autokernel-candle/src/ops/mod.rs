//! Operations on candle's tensors. Each is one kernel where its inputs are of bf16 or f16, on the CPU or a CUDA device, and candle's own
//! operations elsewhere, with the same result but for rounding. Gradients flow through all of them.

#[cfg(feature = "attention")]
mod attention;
#[cfg(feature = "linear")]
mod linear;
#[cfg(feature = "norms")]
mod norms;
#[cfg(any(feature = "linear", feature = "swiglu"))]
mod of_product;
#[cfg(feature = "norms")]
mod softmax;
#[cfg(feature = "swiglu")]
mod swiglu;

#[cfg(feature = "attention")]
pub use attention::{Mask, attention};
#[cfg(feature = "linear")]
pub use linear::{Activation, linear};
#[cfg(feature = "norms")]
pub use norms::{add_rms_norm, layer_norm, rms_norm};
#[cfg(feature = "norms")]
pub use softmax::softmax;
#[cfg(feature = "swiglu")]
pub use swiglu::{silu_mul, swiglu};
