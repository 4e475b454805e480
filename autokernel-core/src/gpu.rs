//! What GPUs have, by compute capability (CUDA C++ Programming Guide, "Compute Capabilities", table of technical
//! specifications), and what is the same for all of them.

use crate::ComputeCapability;

/// Threads of a warp.
pub const WARP_THREADS: u32 = 32;
/// Threads that one block may have.
pub const MAX_BLOCK_THREADS: u32 = 1024;
/// 32-bit registers of one multiprocessor.
pub const REGISTERS_PER_SM: u32 = 65_536;
/// 32-bit registers that one thread may have.
pub const MAX_REGISTERS: u32 = 255;
/// Shared memory that the system keeps of each block, from compute capability 8.0 on, in bytes.
pub const RESERVED_SHARED_BYTES: u32 = 1 << 10;

/// The resources of one multiprocessor.
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
    /// Of compute capability 8.0: the oldest that kernels are compiled for.
    pub const AMPERE: Multiprocessor = Multiprocessor::new(164, 163, 2048, 32);
    /// Of compute capability 9.0.
    pub const HOPPER: Multiprocessor = Multiprocessor::new(228, 227, 2048, 32);
    /// Of GeForce GPUs before and after Hopper, which differ in resident blocks alone.
    const SMALL: Multiprocessor = Multiprocessor::new(100, 99, 1536, 24);

    const fn new(shared_kib: u32, per_block_kib: u32, threads: u32, blocks: u32) -> Self {
        let (shared_bytes, shared_bytes_per_block) = (shared_kib << 10, per_block_kib << 10);
        Self { shared_bytes, shared_bytes_per_block, registers: REGISTERS_PER_SM, threads, blocks }
    }

    /// The resources of a multiprocessor of that compute capability; `None` for one that is not known here.
    pub const fn of(capability: ComputeCapability) -> Option<Self> {
        match (capability.major, capability.minor) {
            (7, 0) => Some(Self::new(96, 96, 2048, 32)),
            (8, 0) => Some(Self::AMPERE),
            (8, 6) => Some(Self { blocks: 16, ..Self::SMALL }),
            (8, 7) => Some(Self::new(164, 163, 1536, 16)),
            (8, 9) | (12, 0 | 1) => Some(Self::SMALL),
            (9, 0) | (10, 0 | 3) => Some(Self::HOPPER),
            (11, 0) => Some(Self::new(228, 227, 1536, 24)),
            _ => None,
        }
    }

    /// The same, or for one that is not known here those of its generation that every GPU of it has, and of a generation that is not
    /// known either those of Hopper.
    pub const fn like(capability: ComputeCapability) -> Self {
        match (Self::of(capability), capability.major) {
            (Some(known), _) => known,
            (None, 8) => Self { blocks: 16, ..Self::SMALL },
            (None, 12) => Self::SMALL,
            (None, _) => Self::HOPPER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CC: fn(u8, u8) -> ComputeCapability = ComputeCapability::new;

    #[test]
    fn a_block_may_have_all_shared_memory_of_its_multiprocessor_but_what_the_system_keeps() {
        for capability in [(8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1)] {
            let sm = Multiprocessor::of(CC(capability.0, capability.1)).unwrap();
            assert_eq!(sm.shared_bytes - sm.shared_bytes_per_block, RESERVED_SHARED_BYTES, "{capability:?}");
            assert!(sm.registers / MAX_REGISTERS >= sm.threads / MAX_BLOCK_THREADS * WARP_THREADS);
        }
    }

    #[test]
    fn a_minor_that_is_not_known_has_what_its_whole_generation_has() {
        assert_eq!(Multiprocessor::of(CC(8, 8)), None);
        let least = Multiprocessor::like(CC(8, 8));
        for known in [(8, 0), (8, 6), (8, 7), (8, 9)].map(|(major, minor)| Multiprocessor::like(CC(major, minor))) {
            assert!(least.shared_bytes_per_block <= known.shared_bytes_per_block && least.blocks <= known.blocks);
            assert!(least.threads <= known.threads);
        }
        assert_eq!(Multiprocessor::like(CC(12, 3)), Multiprocessor::like(CC(12, 0)));
        assert_eq!(Multiprocessor::like(CC(13, 0)), Multiprocessor::HOPPER);
    }
}
