//! Which GPU is emulated, and what it has parsed. Launches on it are in [`emulated`](crate::emulated).

mod emulator;
mod failure;
mod gpu;

pub(crate) use emulator::{Emulator, parse};
pub(crate) use failure::emulated;
pub use gpu::Emulation;
