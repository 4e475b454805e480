//! The architectures and their limits (CUDA C++ Programming Guide, "Compute Capabilities").

/// A GPU architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// Ampere: `mma.sync`, `ldmatrix`, `cp.async`.
    Sm80,
    /// Hopper with its accelerated features: `wgmma`, TMA, mbarriers with transactions, clusters.
    Sm90a,
}

impl Arch {
    /// Shared memory that one block may have, static and dynamic, in bytes.
    pub fn max_shared_bytes(self) -> u32 {
        match self {
            Arch::Sm80 => 163 * 1024,
            Arch::Sm90a => 227 * 1024,
        }
    }

    /// Blocks of a cluster that every part of the architecture grants.
    pub fn max_cluster_blocks(self) -> u32 {
        match self {
            Arch::Sm80 => 1,
            Arch::Sm90a => 8,
        }
    }

    /// Multiprocessors that `%nsmid` tells of.
    pub(crate) fn multiprocessors(self) -> u32 {
        match self {
            Arch::Sm80 => 108,
            Arch::Sm90a => 132,
        }
    }
}

/// Threads that one block may have.
pub(crate) const MAX_BLOCK_THREADS: u64 = 1024;
