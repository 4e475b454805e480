//! Where launches go.

use crate::ComputeCapability;

/// Where a launch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Served {
    /// To the CPU backend.
    Cpu,
    /// To a GPU of that capability, by that variant of the kernel's descriptor.
    Gpu { capability: ComputeCapability, variant: usize },
}
