//! The CPU backend: for each operation, the same computation on the host.

mod matmul;

use crate::{Argument, Result};

pub use matmul::matmul;

/// What computes a kernel on the CPU, given its operands in the order of its signature.
pub type CpuFunction = fn(&mut [Argument<'_>]) -> Result<()>;
