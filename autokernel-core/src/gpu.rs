//! What one SM holds.

use crate::Arch;

/// The limits of one SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmLimits {
    /// Warps.
    pub warps: u32,
    /// Blocks.
    pub blocks: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Shared memory, in bytes.
    pub shared_bytes: u32,
}

impl SmLimits {
    /// Warps and blocks by the compute capability of `arch` (CUDA C++ Programming Guide, "Compute Capabilities",
    /// technical specifications), the rest as the driver says it.
    pub fn new(arch: Arch, registers: u32, shared_bytes: u32) -> Self {
        let (warps, blocks) = match (arch.capability.major, arch.capability.minor) {
            (8, 0) => (64, 32),
            (8, 9) | (12, _) => (48, 24),
            (8, _) => (48, 16),
            _ => (64, 32),
        };
        SmLimits { warps, blocks, registers, shared_bytes }
    }
}
