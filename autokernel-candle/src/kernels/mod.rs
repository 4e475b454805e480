//! The kernels of this crate's operations, for views of one's own making: [`read`](crate::read) and [`write`](crate::write) make
//! them of tensors. Matrices are row-major; weights lie as `[out, in]`, as candle has them.

#[cfg(feature = "activations")]
pub mod activations;
#[cfg(feature = "attention")]
pub mod attention;
#[cfg(feature = "gradients")]
pub mod gradients;
#[cfg(any(feature = "linear", feature = "swiglu"))]
pub mod products;
#[cfg(any(feature = "norms", feature = "swiglu"))]
pub mod rows;
