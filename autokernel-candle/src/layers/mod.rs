//! Layers with the interface of candle's own.

#[cfg(feature = "linear")]
mod linear;
#[cfg(feature = "norms")]
mod rms_norm;
#[cfg(feature = "swiglu")]
mod swiglu;

#[cfg(feature = "linear")]
pub use linear::Linear;
#[cfg(feature = "norms")]
pub use rms_norm::RmsNorm;
#[cfg(feature = "swiglu")]
pub use swiglu::SwiGlu;
