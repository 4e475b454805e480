//! What one multiprocessor has.

use crate::ComputeCapability;

/// The resources of one multiprocessor.
///
/// CUDA C++ Programming Guide, "Compute Capabilities", table of technical specifications per compute capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multiprocessor {
    /// Shared memory, in bytes.
    pub shared_bytes: u32,
    /// Shared memory that one block may have, in bytes.
    pub shared_bytes_per_block: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Resident threads.
    pub threads: u32,
    /// Resident blocks.
    pub blocks: u32,
}

impl Multiprocessor {
    const fn new(shared_kib: u32, per_block_kib: u32, threads: u32, blocks: u32) -> Self {
        let (shared_bytes, shared_bytes_per_block) = (shared_kib << 10, per_block_kib << 10);
        Self { shared_bytes, shared_bytes_per_block, registers: 65_536, threads, blocks }
    }

    /// The resources of a multiprocessor of that compute capability; `None` for one that is not known here.
    pub const fn of(capability: ComputeCapability) -> Option<Self> {
        match (capability.major, capability.minor) {
            (7, 0) => Some(Self::new(96, 96, 2048, 32)),
            (8, 0) => Some(Self::new(164, 163, 2048, 32)),
            (8, 6) => Some(Self::new(100, 99, 1536, 16)),
            (8, 7) => Some(Self::new(164, 163, 1536, 16)),
            (8, 9) => Some(Self::new(100, 99, 1536, 24)),
            (9, 0) | (10, 0) => Some(Self::new(228, 227, 2048, 32)),
            (12, 0) => Some(Self::new(100, 99, 1536, 24)),
            _ => None,
        }
    }
}
