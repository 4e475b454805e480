//! Schedules of `sm80_matmul.cuh`: mma.sync, ldmatrix, cp.async; Ampere and every later GPU.

mod elements;
mod plan;
mod rules;

use std::fmt;

use autokernel_core::gpu::WARP_THREADS;

use crate::family::Family;
use crate::knob::schedule;
use crate::matmul::geometry::Geometry;
use crate::matmul::problem::Class;
use crate::matmul::raster::Raster;
use crate::stated::stated;

pub use elements::{STAGE_BYTES, multiplies, serves};
pub use plan::{constants, plan};
pub use rules::RULES;

/// Registers beside accumulators and operand fragments: addresses, counters, the copies in flight.
const WORKING_REGISTERS: u32 = 48;
/// Registers of a warp that brings rows together, which has no accumulators any more: parts on their way, and the rest.
const TOGETHER_REGISTERS: u32 =
    stated(include_str!("../cuda/body_statistics.cuh"), "constexpr int kTogetherRegisters = ") + 32;

schedule! {
    /// A schedule of the sm80 family.
    Sm80Schedule {
        /// Rows of `C` a block computes.
        tile_m: u32, "32, 64, 128, 256",
        "Large tiles reuse operands best (256x128, 128x256 with 8 warps); take smaller ones when \
         ceil(m/tile_m) * ceil(n/tile_n) would leave SMs idle or a long last wave.",
        { pairs: &["tile_n", "warps_m"], reluctance: 64 };
        /// Columns of `B` a block multiplies. Of `C` it computes as many, with two products half as many.
        tile_n: u32, "32, 64, 128, 256",
        "Large tiles reuse operands best (256x128, 128x256 with 8 warps); take smaller ones when \
         ceil(m/tile_m) * ceil(n/tile_n) would leave SMs idle or a long last wave.",
        { pairs: &["warps_m"], reluctance: 64 };
        /// Elements of K in one stage.
        tile_k: u32, "32, 64; of elements of 8 bits 64, 128, of 32 bits 16, 32",
        "The larger one halves the barriers, the smaller one leaves shared memory for more stages.",
        { is_variant: true };
        /// Warps along M.
        warps_m: u32, "1, 2, 4, 8, 16",
        "A warp tile of 64x64 reuses registers best; more warps hide latency at the cost of that reuse.",
        { axis: Some("warps"), reluctance: 8 };
        /// Warps along N.
        warps_n: u32, "1, 2, 4, 8, 16",
        "A warp tile of 64x64 reuses registers best; more warps hide latency at the cost of that reuse.",
        { axis: Some("warps"), reluctance: 8 };
        /// Depth of the shared-memory ring that cp.async fills ahead of the multiplications.
        stages: u32, "2 … 6",
        "3 or 4 for large tiles, 5 or 6 for small ones.",
        { reluctance: 1, is_variant: true };
    }
    /// The order of tiles.
    raster: Raster { order, group }
}

impl fmt::Display for Sm80Schedule {
    /// One short line: `sm80 128x128x32 s4 warps 2x2 along_m/8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sm80Schedule { tile_m, tile_n, tile_k, warps_m, warps_n, stages, raster } = self;
        write!(f, "sm80 {tile_m}x{tile_n}x{tile_k} s{stages} warps {warps_m}x{warps_n} {raster}")
    }
}

impl Sm80Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "One block computes one tile of C. cp.async fills a ring of shared-memory stages; warps read it with \
         ldmatrix through an XOR swizzle and multiply with mma.sync, 32 bytes of K at a time. Each warp holds \
         (tile_m / warps_m) x (tile_n / warps_n) of the tile in registers.";

    /// Threads of one block.
    pub fn threads(&self) -> u32 {
        self.warps_m * self.warps_n * WARP_THREADS
    }

    /// fp32 accumulators of one thread.
    pub fn accumulators(&self) -> u32 {
        self.tile_m * self.tile_n / self.threads()
    }

    /// Registers of a thread without a body, about.
    pub fn registers(&self) -> u32 {
        self.accumulators() + self.fragments() + WORKING_REGISTERS
    }

    /// Sums of one thread: of groups that have scales of their own those of the group beside those of all.
    pub(super) fn held_sums(&self, class: &Class) -> u32 {
        self.accumulators() * if class.group().is_some() { 2 } else { 1 }
    }

    /// Registers of a thread, about: sums, two sets of operand fragments or then what a body needs, and the rest.
    pub(super) fn registers_for(&self, class: &Class) -> u32 {
        let fragments = self.fragments() + self.group_registers(class) + self.copy_registers(class);
        self.held_sums(class) + fragments.max(self.body_registers(class)) + WORKING_REGISTERS
    }

    fn fragments(&self) -> u32 {
        (self.tile_m / self.warps_m + self.tile_n / self.warps_n) / 2
    }

    /// Beside `mma` of bytes ptxas holds more of the copies of a stage, about a register for each piece of 16 bytes.
    fn copy_registers(&self, class: &Class) -> u32 {
        const PIECE_BYTES: u32 = 16;
        if class.input.bytes() > 1 {
            return 0;
        }
        (self.tile_m + self.tile_n) * self.tile_k / (PIECE_BYTES * self.threads())
    }

    /// What a thread holds of groups, of the one that is summed and of the next one: two scales and a zero point for each 8 columns.
    fn group_registers(&self, class: &Class) -> u32 {
        let words = match class.group() {
            None => 0,
            Some(_) if class.has_zeros() => 3,
            Some(_) => 2,
        };
        self.tile_n / self.warps_n / 4 * words
    }

    /// Registers that what is fused needs beside accumulators: a small tile has fewer of these than rows need that are brought together,
    /// and `mma` of f32 leaves fewer to a walk over rows that the device counts.
    pub fn body_registers(&self, class: &Class) -> u32 {
        const OF_COUNTED_ROWS: u32 = 24;
        let beside = TOGETHER_REGISTERS.saturating_sub(WORKING_REGISTERS + self.accumulators());
        let together = if class.statistics() > 0 { beside } else { 0 };
        let is_counted = class.input.bytes() == 4 && class.many().counts_rows_on_device();
        let counted = if is_counted { self.fragments() + OF_COUNTED_ROWS } else { 0 };
        class.body_registers().max(together).max(counted)
    }

    /// Dynamic shared memory of one block, in bytes: the ring, or the staged output tile that reuses it.
    pub fn shared_bytes(&self, problem: &Class) -> u32 {
        let elements_of_b = problem.weights.map_or(self.tile_k, |weights| self.tile_k / weights.dtype.numbers());
        let bytes_of_b = problem.of_b().bytes();
        let of_a = self.tile_m * self.tile_k * problem.input.bytes();
        let ring = self.stages * (of_a + self.tile_n * elements_of_b * bytes_of_b);
        let staged_rows = self.warps_m * 16 * problem.columns_of_c(self.tile_n) * problem.output.bytes();
        ring.max(staged_rows)
    }

    pub(super) fn geometry(&self, problem: &Class) -> Geometry {
        Geometry {
            family: Family::Sm80,
            tile_m: self.tile_m,
            tile_n: self.tile_n,
            columns: problem.columns_of_c(self.tile_n),
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
