//! What one SM holds.

use crate::Arch;
use crate::gpu::{Multiprocessor, WARP_THREADS};

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
    /// Warps and blocks by the compute capability of `arch`, the rest as the driver says it.
    pub const fn new(arch: Arch, registers: u32, shared_bytes: u32) -> Self {
        let Multiprocessor { threads, blocks, .. } = Multiprocessor::like(arch.capability);
        SmLimits { warps: threads / WARP_THREADS, blocks, registers, shared_bytes }
    }

    /// All of them as `sm` has them.
    pub const fn of(sm: Multiprocessor) -> Self {
        let Multiprocessor { shared_bytes, registers, threads, blocks, .. } = sm;
        SmLimits { warps: threads / WARP_THREADS, blocks, registers, shared_bytes }
    }
}
