//! Schedules of `sm90_matmul.cuh`: TMA, mbarrier pipeline, wgmma; Hopper only.

mod heights;
mod image;
mod line;
mod operand_load;
mod plan;
mod registers;
mod rules;
mod sharing;

use autokernel_core::gpu::{MAX_REGISTERS, Multiprocessor, REGISTERS_PER_SM};
use autokernel_core::{Dtype, TileBox};

use crate::family::Family;
use crate::knob::{choices, schedule};
use crate::matmul::block_scales::AT_ONCE;
use crate::matmul::geometry::Geometry;
use crate::matmul::problem::Class;
use crate::matmul::raster::Raster;
use crate::weights::Weights;

pub use image::heights;
pub use operand_load::loads_operands;
pub use plan::{constants, plan};
pub use rules::RULES;
pub(super) use sharing::Sharing;

/// Threads of one warpgroup.
const WARPGROUP_THREADS: u32 = 128;
pub(super) const WARPS_PER_WARPGROUP: u32 = 4;
/// Rows of one wgmma.
const WGMMA_M: u32 = 64;
/// Of them, those that one warp holds.
const WARP_ROWS: u32 = 16;
/// Bytes that one row or column of a tile takes in a stage.
const SWIZZLE_BYTES: u32 = 128;
/// Where in shared memory TMA writes a box: at a multiple.
const TMA_ALIGNMENT: u32 = 128;
/// After so many bytes the swizzle repeats.
const SWIZZLE_ATOM_BYTES: u32 = 1024;
/// What a box says whose rows lie one after the other.
const UNSWIZZLED: u32 = 16;
const BARRIER_BYTES: u32 = 8;
/// The most rows of a tile that warps multiply on their own by weights of few bits.
const MOST_ROWS_BY_WARPS: u32 = 32;
/// Rows of a swizzle in bytes, as wide as a store box may be, and the most rows of one of a transposed tile, in steps of this many.
const STORED_BYTES: [u32; 3] = [128, 64, 32];
const MOST_STORED_ROWS: u32 = 64;
const STORED_STEP: u32 = 8;
/// Dynamic shared memory one block may have on Hopper, in bytes.
const MAX_SHARED_BYTES: u32 = Multiprocessor::HOPPER.shared_bytes_per_block;

/// Elements of K in one stage: one row of the 128-byte swizzle, of weights where there are such.
fn tile_k(class: &Class) -> u32 {
    class.weights.map_or(SWIZZLE_BYTES / class.input.bytes(), |Weights { dtype, .. }| {
        SWIZZLE_BYTES / dtype.bytes() * dtype.numbers()
    })
}

/// Elements of K in one swizzle row of `A`: a stage has one such panel, with weights several.
fn panel_k(class: &Class) -> u32 {
    SWIZZLE_BYTES / class.input.bytes()
}

/// Rows of scales of groups in one stage.
fn groups(class: &Class) -> u32 {
    class.group().map_or(0, |group| tile_k(class) / group)
}

choices! {
    /// How consumer warpgroups divide the work.
    Mode {
        /// The consumers share each output tile, divided along M, or along N when swapped.
        Cooperative = "cooperative",
        /// Each of two consumers has its own tile: one multiplies while the other stores.
        PingPong = "ping_pong",
    }
}

schedule! {
    /// A schedule of the sm90 family.
    Sm90Schedule {
        /// Rows of `C` a block computes at a time.
        tile_m: u32, "64 … 256, with `swap_ab` 8 … 256",
        "128x256 and 256x128 lead on large shapes; smaller tiles when there are fewer than about two thirds as \
         many tiles as SMs, or when the last wave is mostly empty.",
        { pairs: &["tile_n", "swap_ab", "consumers"], reluctance: 64 };
        /// Columns of `B` a block multiplies at a time. Of `C` it computes as many, with two products half as many.
        tile_n: u32, "16 … 256, with `swap_ab` 64 … 256",
        "128x256 and 256x128 lead on large shapes; smaller tiles when there are fewer than about two thirds as \
         many tiles as SMs, or when the last wave is mostly empty.",
        { pairs: &["split_k", "consumers"], reluctance: 64 };
        /// Depth of the shared-memory ring that TMA fills ahead of the multiplications.
        stages: u32, "2 … 16",
        "At least 4 for tiles up to 128x192; beyond 6 seldom helps, except in small tiles that wait for memory: \
         keep 64 KiB or more in flight.",
        { reluctance: 1, is_variant: true };
        /// Warpgroups that multiply; one more loads.
        consumers: u32, "1, 2, 3",
        "2 for tiles of 128 rows and more, 1 for 64 rows.",
        { axis: Some("crew"), reluctance: 8 };
        /// How the consumers divide the work.
        mode: Mode, "`cooperative`, `ping_pong`",
        "ping_pong hides the store behind the other tile's multiplications, which pays for short k; cooperative \
         allows larger tiles.",
        { axis: Some("crew"), reluctance: 8 };
        /// Blocks of a cluster along M; they share their tile of `B` by multicast.
        cluster_m: u32, "1, 2, 4",
        "2 halves the L2 reads of the shared operand but ties two blocks together: measured between -16 % and \
         +28 %, so try it and assume nothing. 4 is for small tiles, whose reads are large beside their products.",
        { axis: Some("cluster"), is_variant: true };
        /// Blocks of a cluster along N; they share their tile of `A` by multicast.
        cluster_n: u32, "1, 2, 4",
        "2 halves the L2 reads of the shared operand but ties two blocks together: measured between -16 % and \
         +28 %, so try it and assume nothing. 4 is for small tiles, whose reads are large beside their products.",
        { axis: Some("cluster"), is_variant: true };
        /// Whether the tile is computed transposed: its columns take the side of wgmma that comes in multiples of 64, and
        /// its rows the side that comes in multiples of 8, which suits a small M.
        swap_ab: bool = 0, "`false`, `true`",
        "true for m up to about 64, with tile_m = m rounded up to 8, 16, 32 or 64: nothing is padded to 64 rows. \
         false for large m.",
        { reluctance: 32 };
        /// Rows of the tallest tile that the image has beside this one, for launches on other shapes; 0 where it has this one alone.
        rows_up_to: u32 = 0, "0, or with `swap_ab` 16 … 256",
        "0: a search for one shape needs one tile. Others are for the images that every kernel carries.",
        { reluctance: 64, is_variant: true };
        /// Whether blocks can share the sum over K of one tile, so that a launch may say how many do.
        splits: bool = 0 unless "split_k", "`false`, `true`",
        "true where there may be fewer tiles than SMs: one image then serves every split_k that fits its ring. It takes 128 accumulators a thread at \
         most.", { reluctance: 1, is_variant: true };
        /// Blocks that share the sum over K of one tile; 1 for none. More blocks have work when there are few tiles.
        @Launch split_k: u32 = 1, "1 … 8; without `splits` 1",
        "1 unless there are fewer tiles than SMs; then the smallest value that gives most SMs a block. With it there \
         is one tile a cluster, not a persistent block, so more than a wave of clusters wastes time. Costs no compile.";
        /// Whether clusters can share tiles that fill a wave only in part: each sums a stretch of K, and hands its sums on
        /// through memory to the one that finishes the tile.
        stream_k: bool = 0, "`false`, `true`",
        "true where the last wave is mostly empty and k is long, 4096 and more; it costs an exchange of sums.",
        { reluctance: 32 };
        /// Waves of tiles that clusters share, from the last one on; none where it is full, or without `stream_k`.
        @Launch shared_waves: u32 = 0, "0, 1, 2; without `stream_k` 0",
        "2 with stream_k: each tile then has two or three contributors. 1 hands on less, but tiles of many \
         contributors. Costs no compile.",
        { reluctance: 32, is_variant: true };
    }
    /// The order of tiles.
    raster: Raster { order, group }
}

impl Sm90Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "Persistent: about one block an SM walks over tiles of C. One warpgroup loads with TMA into a ring of \
         shared-memory stages of 128 bytes of K, guarded by mbarriers; the consumer warpgroups multiply from \
         shared memory with wgmma and store through TMA. wgmma multiplies 64-row blocks of A by up to 256 columns \
         of B; with swap_ab it multiplies 64-column blocks of B by up to 256 rows of A. With splits a launch \
         can have a cluster of split_k blocks share the k of one tile and add up through distributed shared memory. With stream_k clusters share \
         the tiles of the last shared_waves waves evenly, whatever their number, and hand sums on through memory.";

    /// A schedule that uses nothing beside the plain way: what others are written as a change of.
    pub const PLAIN: Sm90Schedule = Sm90Schedule {
        tile_m: 128,
        tile_n: 128,
        stages: 4,
        consumers: 1,
        mode: Mode::Cooperative,
        cluster_m: 1,
        cluster_n: 1,
        swap_ab: false,
        rows_up_to: 0,
        splits: false,
        split_k: 1,
        stream_k: false,
        shared_waves: 0,
        raster: Raster::PLAIN,
    };

    pub(super) fn consumers_sharing_a_tile(&self) -> u32 {
        match self.mode {
            Mode::Cooperative => self.consumers.max(1),
            Mode::PingPong => 1,
        }
    }

    /// The side of the tile that wgmma takes whole: its N.
    fn width(&self) -> u32 {
        if self.swap_ab { self.tile_m } else { self.tile_n }
    }

    /// fp32 accumulators of one consumer thread.
    pub fn accumulators(&self) -> u32 {
        self.tile_m * self.tile_n / (WARPGROUP_THREADS * self.consumers_sharing_a_tile())
    }

    /// Bytes of one stage: a tile of each operand, and of scales; with weights in whole atoms of the swizzle.
    fn stage_bytes(&self, problem: &Class) -> u32 {
        let factors = (self.tile_m * (tile_k(problem) / panel_k(problem)) + self.tile_n) * SWIZZLE_BYTES;
        let of_scale = problem.weights.and_then(|weights| weights.scales).map_or(0, |scales| scales.dtype.bytes());
        let of_groups = groups(problem) * self.tile_n;
        (factors + of_groups * of_scale + self.zero_bytes(problem)).next_multiple_of(SWIZZLE_ATOM_BYTES)
    }

    /// Zero points of a stage, a byte each; those of a second product begin where TMA may write.
    fn zero_bytes(&self, problem: &Class) -> u32 {
        if problem.has_zeros() { groups(problem) * self.tile_n + TMA_ALIGNMENT } else { 0 }
    }

    /// Threads of one block: the producer's and the consumers'.
    pub fn threads(&self) -> u32 {
        WARPGROUP_THREADS * (1 + self.consumers)
    }

    /// Registers of a thread, about: it is compiled for one block an SM, so each thread gets its share of all.
    pub fn registers(&self) -> u32 {
        (REGISTERS_PER_SM / self.threads().max(1)).min(MAX_REGISTERS) / 8 * 8
    }

    /// What one warp stores at a time: its 16 rows by some columns of the tile, or, swapped, its 16 columns by some rows. Each waits for the
    /// one before, so there are as few as shared memory has room for: where they do not divide the tile, the last stores some of it again.
    pub fn store_box(&self, problem: &Class) -> TileBox {
        let divides = self.dividing_store_box(problem);
        // A body runs on a box at a time, and once on each element.
        if problem.body.is_some() {
            return divides;
        }
        let fits = |of: &TileBox| self.shared_bytes_of(problem, *of, 1) <= MAX_SHARED_BYTES;
        if self.swap_ab {
            let fewer = self.tile_m.div_ceil(MOST_STORED_ROWS)..self.tile_m / divides.rows;
            let rows = |count| self.tile_m.div_ceil(count).next_multiple_of(STORED_STEP);
            return fewer.map(|count| stored_rows(problem, rows(count))).find(fits).unwrap_or(divides);
        }
        let row = problem.columns_of_c(self.tile_n) * problem.output.bytes();
        let wider = STORED_BYTES.into_iter().filter(|&width| divides.swizzle < width && width <= row);
        wider.map(|width| stored_columns(problem, width)).find(fits).unwrap_or(divides)
    }

    /// The widest swizzle that divides a tile's row, or the next one if that leaves room for what is loaded; or, swapped, the most rows up
    /// to 64 that divide a tile's.
    fn dividing_store_box(&self, problem: &Class) -> TileBox {
        if self.swap_ab {
            let mut rows = (STORED_STEP..=MOST_STORED_ROWS).rev().step_by(STORED_STEP as usize);
            return stored_rows(problem, rows.find(|&rows| self.tile_m.is_multiple_of(rows)).unwrap_or(STORED_STEP));
        }
        let row = problem.columns_of_c(self.tile_n) * problem.output.bytes();
        let of = |width| stored_columns(problem, width);
        let mut boxes = STORED_BYTES.into_iter().filter(|&width| row.is_multiple_of(width)).map(of);
        let widest = boxes.next().unwrap_or(of(UNSWIZZLED));
        if self.fits_loads(problem, widest) { widest } else { boxes.next().unwrap_or(widest) }
    }

    /// Store boxes that each warp has room for. Two let a store read one while the next is written, more let what a body reads arrive ahead;
    /// none where C is not stored.
    pub fn store_buffers(&self, problem: &Class) -> u32 {
        if !problem.writes_c() {
            return 0;
        }
        if self.operand_load(problem).is_some() {
            return self.load_buffers(problem);
        }
        if self.shared_bytes_with(problem, 2) <= MAX_SHARED_BYTES { 2 } else { 1 }
    }

    /// Dynamic shared memory of one block, in bytes.
    pub fn shared_bytes(&self, problem: &Class) -> u32 {
        self.shared_bytes_with(problem, self.store_buffers(problem)) + self.load_barrier_bytes(problem)
    }

    /// Scales of blocks, four along K of each stage: those of a tile's rows, and a unit of alignment for those of its columns; before
    /// them as much, so that they begin with such a unit.
    fn block_scale_bytes(&self, problem: &Class) -> u32 {
        const ALIGNMENT: u32 = 128;
        let of_rows = self.tile_m * AT_ONCE * Dtype::F32.bytes();
        problem.block.map_or(0, |_| ALIGNMENT + self.stages * (of_rows + ALIGNMENT))
    }

    /// Alignment, the ring and its barriers, the store staging, and scales of blocks.
    fn shared_bytes_with(&self, problem: &Class, buffers: u32) -> u32 {
        self.shared_bytes_of(problem, self.store_box(problem), buffers)
    }

    fn shared_bytes_of(&self, problem: &Class, store_box: TileBox, buffers: u32) -> u32 {
        let TileBox { rows, swizzle, .. } = store_box;
        let staging = self.consumers * WARPS_PER_WARPGROUP * buffers * rows * swizzle;
        let barriers = (2 + self.panels_given_back(problem)) * BARRIER_BYTES;
        1024 + self.stages * (self.stage_bytes(problem) + barriers) + staging + self.block_scale_bytes(problem)
    }

    /// Panels of `A` in a stage that have a barrier each: those of wide tiles beside numbers of 4 bits, of which few stages fit.
    fn panels_given_back(&self, problem: &Class) -> u32 {
        let packed = problem.weights.is_some_and(|weights| weights.dtype.numbers() > 1);
        if packed && self.tile_m > MOST_ROWS_BY_WARPS { tile_k(problem) / panel_k(problem) } else { 0 }
    }

    pub(super) fn geometry(&self, problem: &Class) -> Geometry {
        Geometry {
            family: Family::Sm90,
            tile_m: self.tile_m,
            tile_n: self.tile_n,
            columns: problem.columns_of_c(self.tile_n),
            tile_k: tile_k(problem),
            cluster_m: self.cluster_m,
            cluster_n: self.cluster_n,
            swap_ab: self.swap_ab,
            // As a launch has it: fewer than one share no tile.
            split_k: self.split_k.max(1),
            threads: self.threads(),
            shared_bytes: self.shared_bytes(problem),
            raster: self.raster,
        }
    }
}

/// A box of one warp's columns of a transposed tile.
fn stored_rows(problem: &Class, rows: u32) -> TileBox {
    TileBox { rows, columns: WARP_ROWS, swizzle: WARP_ROWS * problem.output.bytes() }
}

/// A box of one warp's rows.
fn stored_columns(problem: &Class, bytes: u32) -> TileBox {
    TileBox { rows: WARP_ROWS, columns: bytes / problem.output.bytes(), swizzle: bytes }
}
