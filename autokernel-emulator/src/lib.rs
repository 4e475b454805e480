//! Runs and checks the PTX of CUDA kernels without a GPU.

mod isa;
mod ptx;

pub use ptx::{Kernel, Module, ParseError, ParseErrorKind, SourceLocation};
