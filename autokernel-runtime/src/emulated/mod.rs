//! An emulated GPU: the launch path of a GPU, carried out by the interpreter of `autokernel-emulator`.
//!
//! Operands are checked, realigned, described by tensor maps and divided into blocks by the same code as for a GPU; what
//! differs is who is told. Matrices live in host memory, and a launch has finished when it returns.

mod copies;
mod kernel;
mod launch;
mod memory;
mod run;
mod target;
mod tensor_map;
mod workspace;

pub use autokernel_emulator as emulator;
pub use kernel::EmulatedKernel;
