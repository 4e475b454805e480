//! Schedules of `sm90_matmul.cuh`: TMA, mbarrier pipeline, wgmma; Hopper only.

mod plan;

use autokernel_core::TileBox;
use serde::{Deserialize, Serialize};

use crate::matmul::geometry::{Family, Geometry};
use crate::matmul::problem::ProblemClass;
use crate::matmul::raster::Raster;
use crate::rule::{BrokenRule, require};

pub use plan::{constants, plan};

/// Threads of one warpgroup.
const WARPGROUP_THREADS: u32 = 128;
const WARPS_PER_WARPGROUP: u32 = 4;
/// Rows of one wgmma.
const WGMMA_M: u32 = 64;
/// Of them, those that one warp holds.
const WARP_ROWS: u32 = 16;
/// Bytes that one row or column of a tile takes in a stage.
const SWIZZLE_BYTES: u32 = 128;
/// Elements of K in one stage: one row of the 128-byte swizzle, for 16-bit elements.
pub const TILE_K: u32 = 64;
/// Dynamic shared memory one block may have on Hopper, in bytes.
const MAX_SHARED_BYTES: u32 = 232_448;

/// How consumer warpgroups divide the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The consumers share each output tile, divided along M, or along N when swapped.
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
    /// Whether the tile is computed transposed: its columns take the side of wgmma that comes in multiples of 64, and
    /// its rows the side that comes in multiples of 8, which suits a small M.
    #[serde(default)]
    pub swap_ab: bool,
    /// Blocks that share the sum over K of one tile; 1 for none. More blocks have work when there are few tiles.
    #[serde(default = "one")]
    pub split_k: u32,
    /// The order of tiles.
    pub raster: Raster,
}

/// What `split_k` is in a schedule that does not name it.
fn one() -> u32 {
    1
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
        require((2..=16).contains(&self.stages), "stages_two_to_sixteen", || format!("stages = {}", self.stages))?;
        self.check_split()?;
        let shared = self.shared_bytes(problem);
        require(shared <= MAX_SHARED_BYTES, "shared_memory_fits", || {
            format!(
                "needs {shared} bytes of shared memory, a block may have {MAX_SHARED_BYTES}; take fewer stages or a smaller tile"
            )
        })
    }

    fn check_tile(&self, problem: &ProblemClass) -> Result<(), BrokenRule> {
        let &Sm90Schedule { tile_n, consumers, mode, .. } = self;
        require((1..=3).contains(&consumers), "consumers_one_to_three", || format!("consumers = {consumers}"))?;
        require(mode == Mode::Cooperative || consumers == 2, "ping_pong_takes_two_consumers", || {
            format!("mode = ping_pong with consumers = {consumers}")
        })?;
        self.check_wgmma_sides()?;
        require(problem.layout.transpose_b() || tile_n % 64 == 0, "row_major_b_takes_whole_swizzle_rows", || {
            format!("tile_n = {tile_n} is not a multiple of 64, which layout nn asks for")
        })?;
        let (held, limit) = (self.accumulators(), self.max_accumulators(problem));
        require(held <= limit, "accumulators_fit_registers", || {
            let epilogue = &problem.epilogue;
            format!("{held} accumulators a thread, {limit} fit with {consumers} consumers and the epilogue {epilogue}")
        })
    }

    /// One side of the tile is divided into wgmma's blocks of 64, the other is as wide as one wgmma.
    fn check_wgmma_sides(&self) -> Result<(), BrokenRule> {
        let &Sm90Schedule { tile_m, tile_n, swap_ab, .. } = self;
        let block = WGMMA_M * self.consumers_sharing_a_tile();
        let is_blocks = |extent: u32| (64..=256).contains(&extent) && extent.is_multiple_of(block);
        let is_width = |extent: u32, least| (least..=256).contains(&extent) && extent.is_multiple_of(8);
        if swap_ab {
            require(is_blocks(tile_n), "swapped_tile_n_splits_into_wgmma_blocks", || {
                format!("swap_ab with tile_n = {tile_n}, which is not a multiple of {block} in 64..=256")
            })?;
            return require(is_width(tile_m, 8), "swapped_tile_m_is_a_wgmma_width", || {
                format!("swap_ab with tile_m = {tile_m}, which is not a multiple of 8 in 8..=256")
            });
        }
        require(is_blocks(tile_m), "tile_m_splits_into_wgmma_blocks", || {
            format!("tile_m = {tile_m} is not a multiple of {block} in 64..=256")
        })?;
        require(is_width(tile_n, 16), "tile_n_is_a_wgmma_width", || {
            format!("tile_n = {tile_n} is not a multiple of 8 in 16..=256")
        })
    }

    fn check_cluster(&self, problem: &ProblemClass) -> Result<(), BrokenRule> {
        let &Sm90Schedule { tile_m, tile_n, cluster_m, cluster_n, .. } = self;
        let sizes = [(1, 1), (2, 1), (1, 2), (4, 1), (1, 4)];
        require(sizes.contains(&(cluster_m, cluster_n)), "cluster_of_one_two_or_four_in_a_row", || {
            format!("cluster {cluster_m}x{cluster_n}; legal are 1x1, 2x1, 1x2, 4x1 and 1x4")
        })?;
        let slice = if problem.layout.transpose_b() { 8 } else { 64 };
        require(tile_n % (slice * cluster_m) == 0, "cluster_slices_b_in_whole_swizzle_atoms", || {
            format!("tile_n = {tile_n} is not a multiple of {slice} for each of {cluster_m} blocks")
        })?;
        require(tile_m % (8 * cluster_n) == 0, "cluster_slices_a_in_whole_swizzle_atoms", || {
            format!("tile_m = {tile_m} is not a multiple of 8 for each of {cluster_n} blocks")
        })
    }

    fn check_split(&self) -> Result<(), BrokenRule> {
        let &Sm90Schedule { tile_m, tile_n, stages, consumers, mode, cluster_m, cluster_n, split_k, .. } = self;
        require([1, 2, 4, 8].contains(&split_k), "split_k_one_to_eight", || {
            format!("split_k = {split_k} is not 1, 2, 4 or 8")
        })?;
        let alone = mode == Mode::Cooperative && cluster_m * cluster_n == 1;
        require(split_k == 1 || alone, "split_k_is_cooperative_without_multicast", || {
            format!("split_k = {split_k} asks for mode cooperative and cluster 1x1")
        })?;
        require((4 * consumers).is_multiple_of(split_k), "split_k_divides_the_consumer_warps", || {
            format!("split_k = {split_k} does not divide the {} warps of {consumers} consumers", 4 * consumers)
        })?;
        let partials = tile_m * tile_n * 4 / split_k * (split_k - 1);
        let ring = stages * self.stage_bytes();
        require(partials <= ring, "split_k_partials_fit_the_ring", || {
            format!("{partials} bytes of partial sums do not fit the {ring} of the ring; take more stages")
        })
    }

    /// The most accumulators that ptxas fits without spilling: three consumers have 160 registers a thread, fewer have
    /// 232 or 240, adding up a split K needs some, and so does an epilogue such as `tanhf` when all accumulators are live.
    fn max_accumulators(&self, problem: &ProblemClass) -> u32 {
        let limit = match (self.consumers, self.split_k) {
            (3, _) => 96,
            (_, 1) => 192,
            _ => 128,
        };
        limit - problem.epilogue_cost().registers
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

    /// Bytes of one stage: a tile of each operand.
    fn stage_bytes(&self) -> u32 {
        (self.tile_m + self.tile_n) * SWIZZLE_BYTES
    }

    /// Threads of one block: the producer's and the consumers'.
    pub fn threads(&self) -> u32 {
        WARPGROUP_THREADS * (1 + self.consumers)
    }

    /// What one warp stores at a time: its 16 rows, as wide as the widest swizzle that divides a tile's row; or, swapped,
    /// its 16 columns, as high as the most rows up to 64 that divide a tile's.
    pub fn store_box(&self, problem: &ProblemClass) -> TileBox {
        let element = problem.output.bytes();
        if self.swap_ab {
            let rows = (8..=64).rev().step_by(8).find(|&rows| self.tile_m.is_multiple_of(rows)).unwrap_or(8);
            return TileBox { rows, columns: WARP_ROWS, swizzle: WARP_ROWS * element };
        }
        let row = self.tile_n * element;
        let swizzle = [128, 64, 32].into_iter().find(|&width| row.is_multiple_of(width)).unwrap_or(16);
        TileBox { rows: WARP_ROWS, columns: swizzle / element, swizzle }
    }

    /// Store boxes that each warp has room for. Two let a store read one while the next is written.
    pub fn store_buffers(&self, problem: &ProblemClass) -> u32 {
        if self.shared_bytes_with(problem, 2) <= MAX_SHARED_BYTES { 2 } else { 1 }
    }

    /// Dynamic shared memory of one block, in bytes.
    pub fn shared_bytes(&self, problem: &ProblemClass) -> u32 {
        self.shared_bytes_with(problem, self.store_buffers(problem))
    }

    /// Alignment, the ring and its barriers, the store staging.
    fn shared_bytes_with(&self, problem: &ProblemClass, buffers: u32) -> u32 {
        let TileBox { rows, swizzle, .. } = self.store_box(problem);
        let staging = self.consumers * WARPS_PER_WARPGROUP * buffers * rows * swizzle;
        1024 + self.stages * (self.stage_bytes() + 16) + staging
    }

    pub(super) fn geometry(&self, problem: &ProblemClass) -> Geometry {
        Geometry {
            family: Family::Sm90,
            tile_m: self.tile_m,
            tile_n: self.tile_n,
            tile_k: TILE_K,
            cluster_m: self.cluster_m,
            cluster_n: self.cluster_n,
            swap_ab: self.swap_ab,
            split_k: self.split_k,
            threads: self.threads(),
            shared_bytes: self.shared_bytes(problem),
            raster: self.raster,
        }
    }
}
