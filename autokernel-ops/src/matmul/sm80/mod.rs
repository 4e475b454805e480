//! Schedules of `sm80_matmul.cuh`: mma.sync, ldmatrix, cp.async; Ampere and every later GPU.

mod plan;

use serde::{Deserialize, Serialize};

use crate::matmul::geometry::{Family, Geometry};
use crate::matmul::problem::ProblemClass;
use crate::matmul::raster::Raster;
use crate::rule::{BrokenRule, require};
use autokernel_core::Arch;

pub use plan::{constants, plan};

const WARP_THREADS: u32 = 32;
/// Accumulators a thread may hold beside its operand fragments without spilling.
const MAX_ACCUMULATORS: u32 = 128;
/// Registers beside accumulators and operand fragments: addresses, counters, the copies in flight.
const WORKING_REGISTERS: u32 = 48;
/// Registers one thread may have.
const MAX_REGISTERS: u32 = 255;
/// Registers of one multiprocessor.
const REGISTER_FILE: u32 = 65_536;

/// A schedule of the sm80 family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sm80Schedule {
    /// Rows of `C` a block computes.
    pub tile_m: u32,
    /// Columns of `C` a block computes.
    pub tile_n: u32,
    /// Elements of K in one stage.
    pub tile_k: u32,
    /// Warps along M.
    pub warps_m: u32,
    /// Warps along N.
    pub warps_n: u32,
    /// Depth of the shared-memory ring that cp.async fills ahead of the multiplications.
    pub stages: u32,
    /// The order of tiles.
    pub raster: Raster,
}

impl Sm80Schedule {
    /// Whether the kernel can be compiled and run for `problem` on `arch`.
    ///
    /// # Errors
    /// The first broken rule, by the name it has in the kernel's `static_assert`.
    pub fn check(&self, problem: &ProblemClass, arch: Arch) -> Result<(), BrokenRule> {
        let &Sm80Schedule { tile_m, tile_n, tile_k, warps_m, warps_n, stages, raster } = self;
        raster.check()?;
        let tiles = [32, 64, 128, 256].contains(&tile_m) && [32, 64, 128, 256].contains(&tile_n);
        require(tiles && [32, 64].contains(&tile_k), "tile", || {
            format!("{tile_m}x{tile_n}x{tile_k}; tile_m and tile_n are 32, 64, 128 or 256, tile_k is 32 or 64")
        })?;
        require((2..=6).contains(&stages), "stages", || format!("stages = {stages} is not in 2..=6"))?;
        let warps = warps_m.saturating_mul(warps_n);
        let powers = warps_m.is_power_of_two() && warps_n.is_power_of_two();
        require(powers && warps <= 16, "warps", || {
            format!("{warps_m}x{warps_n} warps; each is a power of two, and together at most 16")
        })?;
        self.check_warp_tile()?;
        let (shared, limit) = (self.shared_bytes(problem), arch.shared_bytes_per_block());
        require(shared <= limit, "shared_memory", || {
            format!("needs {shared} bytes, a block of {arch} may have {limit}; take fewer stages or a smaller tile")
        })
    }

    fn check_warp_tile(&self) -> Result<(), BrokenRule> {
        let &Sm80Schedule { tile_m, tile_n, warps_m, warps_n, .. } = self;
        let (warp_m, warp_n, threads) = (tile_m / warps_m, tile_n / warps_n, self.threads());
        let splits = tile_m % (16 * warps_m) == 0 && tile_n % (16 * warps_n) == 0;
        require(splits, "warp_tile", || {
            format!("{tile_m}x{tile_n} over {warps_m}x{warps_n} warps is not a multiple of 16x16 each")
        })?;
        let held = self.accumulators();
        require(held <= MAX_ACCUMULATORS, "accumulators", || {
            format!("{held} accumulators a thread, {MAX_ACCUMULATORS} fit; take more warps or a smaller tile")
        })?;
        let needed = held + (warp_m + warp_n) / 2 + WORKING_REGISTERS;
        let available = MAX_REGISTERS.min(REGISTER_FILE / threads);
        require(needed <= available, "registers", || {
            format!("about {needed} registers a thread, {available} are there; take smaller warp tiles or fewer warps")
        })
    }

    /// Threads of one block.
    pub fn threads(&self) -> u32 {
        self.warps_m * self.warps_n * WARP_THREADS
    }

    /// fp32 accumulators of one thread.
    pub fn accumulators(&self) -> u32 {
        self.tile_m * self.tile_n / self.threads()
    }

    /// Dynamic shared memory of one block, in bytes: the ring, or the staged output tile that reuses it.
    pub fn shared_bytes(&self, problem: &ProblemClass) -> u32 {
        let ring = self.stages * (self.tile_m + self.tile_n) * self.tile_k * problem.input.bytes();
        let staged_rows = self.warps_m * 16 * self.tile_n * problem.output.bytes();
        ring.max(staged_rows)
    }

    pub(super) fn geometry(&self, problem: &ProblemClass) -> Geometry {
        Geometry {
            family: Family::Sm80,
            tile_m: self.tile_m,
            tile_n: self.tile_n,
            tile_k: self.tile_k,
            cluster_m: 1,
            cluster_n: 1,
            swap_ab: false,
            split_k: 1,
            threads: self.threads(),
            shared_bytes: self.shared_bytes(problem),
            raster: self.raster,
        }
    }
}
