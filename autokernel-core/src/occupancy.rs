//! How many blocks an SM holds at once, computed as NVIDIA's `cuda_occupancy.h` (CUDA toolkit) does for compute
//! capability 8.0 and later.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::SmLimits;
use crate::gpu::{RESERVED_SHARED_BYTES, WARP_THREADS};

/// Registers are given to a warp in units of this many.
const REGISTER_UNIT: u32 = 256;
/// Each quarter of an SM has its own registers and schedules its own warps.
const SUB_PARTITIONS: u32 = 4;
/// Shared memory is given in units of this many bytes.
const SHARED_UNIT: u32 = 128;

/// What one block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockNeeds {
    /// Threads.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory, static and dynamic, in bytes.
    pub shared_bytes: u32,
}

/// What keeps an SM from holding one block more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Its shared memory.
    SharedMemory,
    /// Its registers.
    Registers,
    /// The warps it can hold.
    Warps,
    /// The blocks it can hold.
    #[default]
    Blocks,
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limiter::SharedMemory => "shared memory",
            Limiter::Registers => "registers",
            Limiter::Warps => "warps",
            Limiter::Blocks => "blocks",
        })
    }
}

/// The theoretical occupancy of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Blocks that one SM holds at once; 0 if it cannot hold one.
    pub blocks_per_sm: u32,
    /// Their warps.
    pub warps_per_sm: u32,
    /// Of the warps that an SM can hold, in percent.
    pub percent: f64,
    /// What keeps it from one block more.
    pub limiter: Limiter,
}

impl Occupancy {
    /// How many blocks of that kind an SM holds.
    pub fn new(limits: &SmLimits, block: &BlockNeeds) -> Self {
        let warps = block.threads.div_ceil(WARP_THREADS).max(1);
        let shared = block.shared_bytes.saturating_add(RESERVED_SHARED_BYTES).next_multiple_of(SHARED_UNIT);
        let candidates = [
            (limits.shared_bytes / shared, Limiter::SharedMemory),
            (blocks_by_registers(limits, block, warps), Limiter::Registers),
            (limits.warps / warps, Limiter::Warps),
            (limits.blocks, Limiter::Blocks),
        ];
        // The first of equals counts: what a schedule can change comes before what it cannot.
        let (blocks_per_sm, limiter) = candidates.into_iter().min_by_key(|(blocks, _)| *blocks).unwrap_or_default();
        let warps_per_sm = blocks_per_sm * warps;
        let percent = 100.0 * f64::from(warps_per_sm) / f64::from(limits.warps.max(1));
        Occupancy { blocks_per_sm, warps_per_sm, percent, limiter }
    }
}

/// Warps take registers from the quarter of the SM they run in. A launch is refused as if every quarter had as many of
/// the block's warps as the fullest.
fn blocks_by_registers(limits: &SmLimits, block: &BlockNeeds, warps: u32) -> u32 {
    let of_a_warp = (block.registers.max(1) * WARP_THREADS).next_multiple_of(REGISTER_UNIT);
    if of_a_warp * warps.next_multiple_of(SUB_PARTITIONS) > limits.registers {
        return 0;
    }
    limits.registers / SUB_PARTITIONS / of_a_warp * SUB_PARTITIONS / warps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ComputeCapability;
    use crate::gpu::Multiprocessor;

    const A100: SmLimits = limits(8, 0);
    const RTX_3090: SmLimits = limits(8, 6);
    const H100: SmLimits = limits(9, 0);

    const fn limits(major: u8, minor: u8) -> SmLimits {
        SmLimits::of(Multiprocessor::like(ComputeCapability::new(major, minor)))
    }

    fn found(limits: &SmLimits, threads: u32, registers: u32, shared_bytes: u32) -> (u32, f64, Limiter) {
        let occupancy = Occupancy::new(limits, &BlockNeeds { threads, registers, shared_bytes });
        (occupancy.blocks_per_sm, occupancy.percent, occupancy.limiter)
    }

    #[test]
    fn occupancies_are_those_of_nvidias_calculator() {
        // Threads, registers and shared bytes of a block as entered there.
        assert_eq!(found(&A100, 256, 32, 0), (8, 100.0, Limiter::Registers));
        assert_eq!(found(&A100, 256, 64, 0), (4, 50.0, Limiter::Registers));
        // 33 registers are given as 40: 12 warps a quarter.
        assert_eq!(found(&A100, 256, 33, 0), (6, 75.0, Limiter::Registers));
        assert_eq!(found(&A100, 1024, 32, 0), (2, 100.0, Limiter::Registers));
        assert_eq!(found(&A100, 32, 16, 0), (32, 50.0, Limiter::Blocks));
        assert_eq!(found(&A100, 256, 16, 0), (8, 100.0, Limiter::Warps));
        // 48 KiB and the system's 1 KiB: three fit 164 KiB, two fit 100 KiB.
        assert_eq!(found(&A100, 256, 32, 48 << 10), (3, 37.5, Limiter::SharedMemory));
        assert_eq!(found(&RTX_3090, 256, 32, 48 << 10).0, 2);
        assert_eq!(found(&RTX_3090, 32, 16, 0).0, 16);
        // 255 registers are given as 256: two warps a quarter.
        assert_eq!(found(&A100, 256, 255, 0), (1, 12.5, Limiter::Registers));
        assert_eq!(found(&A100, 512, 255, 0).0, 0);
    }

    #[test]
    fn a_warp_specialised_hopper_block_has_an_sm_for_itself() {
        assert_eq!(found(&H100, 384, 168, 200_000), (1, 18.75, Limiter::SharedMemory));
        assert_eq!(found(&H100, 384, 168, 60_000), (1, 18.75, Limiter::Registers));
        // The most that a block may have fits exactly.
        assert_eq!(found(&H100, 128, 32, 227 << 10).0, 1);
        assert_eq!(found(&H100, 128, 32, (227 << 10) + 1).0, 0);
    }
}
