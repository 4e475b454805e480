//! How many blocks an SM holds at once, and how the tiles of C fall on the SMs.
//!
//! Occupancy is computed as NVIDIA's `cuda_occupancy.h` (CUDA toolkit) does for compute capability 8.0 and later;
//! limits are those of the CUDA C++ Programming Guide, "Compute Capabilities", technical specifications.

use std::fmt;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::schedule::{Family, Geometry};
use autokernel_codegen::shape::Shape;
use serde::{Deserialize, Serialize};

use crate::gpu_facts::GpuFacts;

const WARP_THREADS: u32 = 32;
/// Registers are given to a warp in units of this many.
const REGISTER_UNIT: u32 = 256;
/// Each quarter of an SM has its own registers and schedules its own warps.
const SUB_PARTITIONS: u32 = 4;
/// Shared memory is given in units of this many bytes.
const SHARED_UNIT: u32 = 128;
/// Shared memory that the system keeps of each block, in bytes.
const RESERVED_SHARED_BYTES: u32 = 1024;

/// What one SM can hold.
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
    /// The limits of `gpu`: warps and blocks by the compute capability of `arch`, the rest as the driver says.
    pub fn of(arch: Arch, gpu: &GpuFacts) -> Self {
        let (warps, blocks) = match (arch.capability.major, arch.capability.minor) {
            (8, 0) => (64, 32),
            (8, 9) | (12, _) => (48, 24),
            (8, _) => (48, 16),
            _ => (64, 32),
        };
        SmLimits { warps, blocks, registers: gpu.registers_per_sm, shared_bytes: gpu.shared_bytes_per_sm }
    }
}

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

/// How many blocks of that kind an SM holds.
pub fn occupancy(limits: &SmLimits, block: &BlockNeeds) -> Occupancy {
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

/// Warps take registers from the quarter of the SM they run in. A launch is refused as if every quarter had as many of
/// the block's warps as the fullest.
fn blocks_by_registers(limits: &SmLimits, block: &BlockNeeds, warps: u32) -> u32 {
    let of_a_warp = (block.registers.max(1) * WARP_THREADS).next_multiple_of(REGISTER_UNIT);
    if of_a_warp * warps.next_multiple_of(SUB_PARTITIONS) > limits.registers {
        return 0;
    }
    limits.registers / SUB_PARTITIONS / of_a_warp * SUB_PARTITIONS / warps
}

/// How the tiles of C fall on a GPU's SMs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waves {
    /// Tiles of C, those that fill up a cluster included.
    pub tiles: u64,
    /// Tiles that are under way at once.
    pub slots: u64,
    /// `tiles / slots`: 1.1 has a long tail, 2.0 none.
    pub waves: f64,
    /// Slots of the last wave that have a tile, in percent: 100 is no tail.
    pub tail_pct: f64,
    /// Of all slots over all waves those that have a tile, in percent: what the tail alone leaves of the peak.
    pub utilization_pct: f64,
}

/// How the tiles of `shape` fall on `sm_count` SMs that hold `blocks_per_sm` blocks each.
///
/// The sm90 family is persistent, with at most one block an SM and whole clusters; a block of the sm80 family computes
/// one tile; with a split K, `split_k` blocks do. Mirrors the grids of `autokernel-runtime`.
pub fn waves(geometry: &Geometry, shape: Shape, sm_count: u32, blocks_per_sm: u32) -> Waves {
    let (cluster_m, cluster_n) = (geometry.cluster_m.max(1), geometry.cluster_n.max(1));
    let across = |extent: u32, tile: u32, cluster: u32| {
        u64::from(extent.div_ceil(tile.max(1)).div_ceil(cluster)) * u64::from(cluster)
    };
    let tiles = across(shape.m, geometry.tile_m, cluster_m) * across(shape.n, geometry.tile_n, cluster_n);
    let slots = match geometry.family {
        _ if geometry.split_k > 1 => u64::from(sm_count / geometry.split_k) * u64::from(blocks_per_sm),
        Family::Sm80 => u64::from(sm_count) * u64::from(blocks_per_sm),
        Family::Sm90 => u64::from(sm_count / (cluster_m * cluster_n) * cluster_m * cluster_n),
    };
    let slots = slots.max(1);
    let last = match tiles % slots {
        0 => slots,
        rest => rest,
    };
    let rounds = tiles.div_ceil(slots).max(1);
    Waves {
        tiles,
        slots,
        waves: tiles as f64 / slots as f64,
        tail_pct: 100.0 * last as f64 / slots as f64,
        utilization_pct: 100.0 * tiles as f64 / (rounds * slots) as f64,
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::schedule::{Raster, RasterOrder};

    use super::*;

    const A100: SmLimits = SmLimits { warps: 64, blocks: 32, registers: 65_536, shared_bytes: 164 << 10 };
    const RTX_3090: SmLimits = SmLimits { warps: 48, blocks: 16, registers: 65_536, shared_bytes: 100 << 10 };
    const H100: SmLimits = SmLimits { warps: 64, blocks: 32, registers: 65_536, shared_bytes: 228 << 10 };

    fn found(limits: &SmLimits, threads: u32, registers: u32, shared_bytes: u32) -> (u32, f64, Limiter) {
        let occupancy = occupancy(limits, &BlockNeeds { threads, registers, shared_bytes });
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

    fn geometry(family: Family, tile: (u32, u32), cluster: (u32, u32)) -> Geometry {
        Geometry {
            family,
            tile_m: tile.0,
            tile_n: tile.1,
            tile_k: 64,
            cluster_m: cluster.0,
            cluster_n: cluster.1,
            swap_ab: false,
            split_k: 1,
            threads: 384,
            shared_bytes: 0,
            raster: Raster { order: RasterOrder::AlongM, group: 8 },
        }
    }

    #[test]
    fn tiles_fall_on_the_sms_in_waves_with_a_tail() {
        let shape = Shape { m: 4096, n: 4096, k: 4096 };
        let persistent = waves(&geometry(Family::Sm90, (128, 256), (2, 1)), shape, 132, 1);
        assert_eq!((persistent.tiles, persistent.slots), (512, 132));
        assert!((persistent.waves - 3.8788).abs() < 1e-4);
        // 512 = 3 * 132 + 116.
        assert!((persistent.tail_pct - 100.0 * 116.0 / 132.0).abs() < 1e-9);
        assert!((persistent.utilization_pct - 100.0 * 512.0 / 528.0).abs() < 1e-9);

        let resident = waves(&geometry(Family::Sm80, (128, 128), (1, 1)), shape, 108, 2);
        assert_eq!((resident.tiles, resident.slots), (1024, 216));
        let even = waves(&geometry(Family::Sm80, (128, 128), (1, 1)), Shape { m: 1024, n: 2048, k: 64 }, 64, 2);
        assert_eq!((even.waves, even.tail_pct, even.utilization_pct), (1.0, 100.0, 100.0));
    }

    #[test]
    fn clusters_fill_up_what_is_left_of_them_and_leave_an_odd_sm_idle() {
        let ragged = waves(&geometry(Family::Sm90, (128, 128), (2, 1)), Shape { m: 300, n: 300, k: 64 }, 133, 1);
        assert_eq!((ragged.tiles, ragged.slots), (4 * 3, 132));
    }

    #[test]
    fn the_blocks_that_share_a_tiles_sum_take_a_slot_together() {
        let split = Geometry { split_k: 4, ..geometry(Family::Sm90, (128, 128), (1, 1)) };
        let waves = waves(&split, Shape { m: 128, n: 4096, k: 8192 }, 132, 1);
        assert_eq!((waves.tiles, waves.slots), (32, 33));
    }

    #[test]
    fn nothing_to_compute_is_no_division_by_zero() {
        let none = waves(&geometry(Family::Sm80, (128, 128), (1, 1)), Shape { m: 0, n: 0, k: 0 }, 0, 0);
        assert!(none.waves == 0.0 && none.utilization_pct == 0.0);
    }
}
