//! [autokernel]'s kernels on [candle](candle_core)'s tensors.
//!
//! - **Layers** with the interface of candle's own, [`Linear`], [`SwiGlu`] and [`RmsNorm`], and [`ops`], functions on tensors, attention
//!   among them. Each is one kernel for bf16 and f16, with gradients, and candle's own operations for other types and devices.
//! - **Kernels of yours** on tensors: [`read()`] gives views of them, with no copy and whatever their offsets and strides, [`write()`] a
//!   tensor that your kernel writes, [`write_two`] and [`write_three`] several of one launch, and [`update`] lets it write over one.
//!
//! ```
//! use autokernel_candle::{Linear, Mask, RmsNorm, SwiGlu, attention};
//! use candle_core::{DType, Device, Module, Result, Tensor};
//!
//! /// The feed-forward block of a Llama, with its residual.
//! fn block(x: &Tensor, norm: &RmsNorm, gated: &SwiGlu, down: &Linear) -> Result<Tensor> {
//!     down.forward(&gated.forward(&norm.forward(x)?)?)? + x
//! }
//!
//! # fn main() -> Result<()> {
//! let weight = |n, k| Tensor::randn(0f32, 0.1, (n, k), &Device::Cpu)?.to_dtype(DType::BF16);
//! let norm = RmsNorm::new(Tensor::ones(64, DType::BF16, &Device::Cpu)?, 1e-5);
//! let x = Tensor::randn(0f32, 1.0, (1, 5, 64), &Device::Cpu)?.to_dtype(DType::BF16)?;
//! let y = block(&x, &norm, &SwiGlu::new(weight(96, 64)?, weight(96, 64)?), &Linear::new(weight(64, 96)?, None))?;
//! assert_eq!(y.dims(), [1, 5, 64]);
//!
//! let heads = y.reshape((1, 5, 1, 64))?.transpose(1, 2)?; // no copy: heads may have any strides
//! assert_eq!(attention(&heads, &heads, &heads, Mask::Causal)?.dims(), [1, 1, 5, 64]);
//! # Ok(())
//! # }
//! ```
//!
//! On a CUDA device (feature `cuda`) kernels run on candle's stream, in memory that candle allocates. On the CPU they run by
//! autokernel's CPU backend. What a GPU needs is compiled when this crate is built, by nvcc if there is one: see
//! [autokernel] for `AUTOKERNEL_ARCHS` and its kin. It is made for candle 0.11, whose cudarc is ours.
//!
//! **Features**: `attention`, `linear`, `norms` and `swiglu` are on by default, each of which takes nvcc some seconds; `activations` puts
//! the activation of a biased layer into its product, `gradients` adds kernels for what is trained.

mod element;
mod error;
pub mod kernels;
mod layers;
mod layout;
mod operation;
pub mod ops;
mod served;
mod source;
mod target;
mod update;
mod write;

pub use element::TensorElement;
pub use error::{Error, Result};
#[cfg(feature = "linear")]
pub use layers::Linear;
#[cfg(feature = "norms")]
pub use layers::RmsNorm;
#[cfg(feature = "swiglu")]
pub use layers::SwiGlu;
#[cfg(feature = "linear")]
pub use ops::Activation;
#[cfg(feature = "attention")]
pub use ops::{Mask, attention};
pub use source::{IndexNumber, Reader, read};
pub use target::Target;
pub use update::update;
pub use write::{write, write_three, write_two};

/// The guide's programs.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/start-candle.md")]
struct Guide;
