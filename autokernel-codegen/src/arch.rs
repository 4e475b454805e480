//! GPU architectures, as nvcc names them.

pub use autokernel_core::{Arch, ComputeCapability, Features, ParseArchError};
