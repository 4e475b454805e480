//! Runs and checks the PTX of CUDA kernels without a GPU.

mod check;
mod device;
mod fault;
mod isa;
mod launch;
mod ptx;
mod report;
mod run;

pub use device::{
    Arch, DevicePointer, Element, Fill, Gpu, HANDLE_BYTES, MemoryError, Swizzle, TensorMap, TensorMapError,
};
pub use fault::{Access, Actor, Fault, FaultKind, LaunchError, MbarrierFault, OtherAccess, RunError};
pub use launch::{Checks, Launch, Options};
pub use ptx::{Kernel, Module, ParseError, ParseErrorKind, SourceLocation};
pub use report::{Counters, Report, Site, Traffic};
