//! Schedules of `sm90_matmul.cuh`: TMA, mbarrier pipeline, wgmma; Hopper only.
//!
//! The rules and formulas are those of the kernel's header comment.

use serde::{Deserialize, Serialize};

use super::geometry::{Family, Geometry};
use super::raster::Raster;
use super::rule::{BrokenRule, require};
use crate::problem::ProblemClass;

/// Threads of one warpgroup.
const WARPGROUP_THREADS: u32 = 128;
/// Rows of one wgmma.
const WGMMA_M: u32 = 64;
/// Elements of K in one stage: one row of the 128-byte swizzle, for 16-bit elements.
pub const TILE_K: u32 = 64;
/// Dynamic shared memory one block may have on Hopper, in bytes.
const MAX_SHARED_BYTES: u32 = 232_448;

/// Accumulators given up for an epilogue that needs registers.
const EPILOGUE_REGISTERS: u32 = 16;

/// How consumer warpgroups divide the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The consumers share each output tile, divided along M.
    Cooperative,
    /// Each of two consumers has its own tile: one multiplies while the other stores.
    PingPong,
}

/// A schedule of the sm90 family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sm90Schedule {
    /// Rows of `C` a block computes at a time.
    pub tile_m: u32,
    /// Columns of `C` a block computes at a time.
    pub tile_n: u32,
    /// Depth of the shared-memory ring that TMA fills ahead of the multiplications.
    pub stages: u32,
    /// Warpgroups that multiply; one more loads.
    pub consumers: u32,
    /// How the consumers divide the work.
    pub mode: Mode,
    /// Blocks of a cluster along M; they share their tile of `B` by multicast.
    pub cluster_m: u32,
    /// Blocks of a cluster along N; they share their tile of `A` by multicast.
    pub cluster_n: u32,
    /// The order of tiles.
    pub raster: Raster,
}

impl Sm90Schedule {
    /// Whether the kernel can be compiled and run for `problem`.
    ///
    /// # Errors
    /// The first broken rule, by the name it has in the kernel's `static_assert`.
    pub fn check(&self, problem: &ProblemClass) -> Result<(), BrokenRule> {
        self.raster.check()?;
        self.check_tile(problem)?;
        self.check_cluster(problem)?;
        require((2..=8).contains(&self.stages), "stages_two_to_eight", || format!("stages = {}", self.stages))?;
        let shared = self.shared_bytes(problem);
        require(shared <= MAX_SHARED_BYTES, "shared_memory_fits", || {
            format!(
                "needs {shared} bytes of shared memory, a block may have {MAX_SHARED_BYTES}; take fewer stages or a smaller tile"
            )
        })
    }

    fn check_tile(&self, problem: &ProblemClass) -> Result<(), BrokenRule> {
        let &Sm90Schedule { tile_m, tile_n, consumers, mode, .. } = self;
        require((1..=3).contains(&consumers), "consumers_one_to_three", || format!("consumers = {consumers}"))?;
        require(mode == Mode::Cooperative || consumers == 2, "ping_pong_takes_two_consumers", || {
            format!("mode = ping_pong with consumers = {consumers}")
        })?;
        let rows = WGMMA_M * self.consumers_sharing_a_tile();
        require((64..=256).contains(&tile_m) && tile_m % rows == 0, "tile_m_splits_into_wgmma_blocks", || {
            format!("tile_m = {tile_m} is not a multiple of {rows} in 64..=256")
        })?;
        require((16..=256).contains(&tile_n) && tile_n % 8 == 0, "tile_n_is_a_wgmma_width", || {
            format!("tile_n = {tile_n} is not a multiple of 8 in 16..=256")
        })?;
        require(problem.layout.transpose_b() || tile_n % 64 == 0, "row_major_b_takes_whole_swizzle_rows", || {
            format!("tile_n = {tile_n} is not a multiple of 64, which layout nn asks for")
        })?;
        let (held, limit) = (self.accumulators(), self.max_accumulators(problem));
        require(held <= limit, "accumulators_fit_registers", || {
            let epilogue = &problem.epilogue;
            format!("{held} accumulators a thread, {limit} fit with {consumers} consumers and the epilogue {epilogue}")
        })
    }

    fn check_cluster(&self, problem: &ProblemClass) -> Result<(), BrokenRule> {
        let &Sm90Schedule { tile_n, cluster_m, cluster_n, .. } = self;
        let sizes = [(1, 1), (2, 1), (1, 2)];
        require(sizes.contains(&(cluster_m, cluster_n)), "cluster_of_at_most_two", || {
            format!("cluster {cluster_m}x{cluster_n}; legal are 1x1, 2x1 and 1x2")
        })?;
        let slice = if problem.layout.transpose_b() { 8 } else { 64 };
        require(tile_n % (slice * cluster_m) == 0, "cluster_slices_b_in_whole_swizzle_atoms", || {
            format!("tile_n = {tile_n} is not a multiple of {slice} for each of {cluster_m} blocks")
        })
    }

    /// The most accumulators that ptxas fits without spilling: three consumers have 160 registers a thread, fewer have
    /// 232 or 240, and an epilogue such as `tanhf` needs some at a time when all accumulators are live.
    fn max_accumulators(&self, problem: &ProblemClass) -> u32 {
        let limit = if self.consumers == 3 { 96 } else { 192 };
        if crate::epilogue::needs_registers(&problem.epilogue) { limit - EPILOGUE_REGISTERS } else { limit }
    }

    fn consumers_sharing_a_tile(&self) -> u32 {
        match self.mode {
            Mode::Cooperative => self.consumers.max(1),
            Mode::PingPong => 1,
        }
    }

    /// fp32 accumulators of one consumer thread.
    pub fn accumulators(&self) -> u32 {
        self.tile_m * self.tile_n / (WARPGROUP_THREADS * self.consumers_sharing_a_tile())
    }

    /// Bytes of one row of a store box: the widest swizzle that divides a tile's row.
    fn store_width_bytes(&self, problem: &ProblemClass) -> u32 {
        let row = self.tile_n * problem.output.bytes();
        [128, 64, 32].into_iter().find(|&width| row.is_multiple_of(width)).unwrap_or(16)
    }

    /// Dynamic shared memory of one block, in bytes: alignment, the ring, the store staging, the barriers.
    pub fn shared_bytes(&self, problem: &ProblemClass) -> u32 {
        let stage = (self.tile_m + self.tile_n) * TILE_K * problem.input.bytes();
        let staging = self.consumers * WGMMA_M * self.store_width_bytes(problem);
        let with_buffers = |buffers| 1024 + self.stages * (stage + 16) + buffers * staging;
        let double = with_buffers(2);
        if double <= MAX_SHARED_BYTES { double } else { with_buffers(1) }
    }

    pub(super) fn geometry(&self, problem: &ProblemClass) -> Geometry {
        Geometry {
            family: Family::Sm90,
            tile_m: self.tile_m,
            tile_n: self.tile_n,
            tile_k: TILE_K,
            cluster_m: self.cluster_m,
            cluster_n: self.cluster_n,
            threads: WARPGROUP_THREADS * (1 + self.consumers),
            shared_bytes: self.shared_bytes(problem),
            raster: self.raster,
        }
    }
}
