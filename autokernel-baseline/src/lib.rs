//! What autokernel is measured against.
//!
//! The honest opponent of a fused kernel is not one call of cuBLAS. [`CublasLt`] makes its descriptors once, asks for
//! many heuristics with a large workspace, and [`fastest`] times them all and keeps the best; [`LeakyRelu`] is the one
//! elementwise kernel that follows where cuBLASLt cannot fuse. [`Torch`] is a Python process, timed in the same rounds.

mod cublaslt;
mod elementwise;
mod error;
mod fastest;
mod torch;

pub use cublaslt::{Added, CublasLt, Epilogue, Gemm, GemmProblem};
pub use elementwise::LeakyRelu;
pub use error::{Error, Result};
pub use fastest::{HEURISTICS, fastest};
pub use torch::Torch;
