//! Declared kernels: chosen for the operands, loaded once a context, launched.

mod any;
mod autotune;
mod loaded;
mod typed;

pub use any::AnyKernel;
pub use typed::Kernel;
