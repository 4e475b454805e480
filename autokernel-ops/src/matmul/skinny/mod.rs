//! Schedules of `skinny_sm80_matmul.cuh`: few rows of A, and factors that are read wherever they begin; Ampere and every later GPU.

mod default;
mod plan;
mod rules;
mod space;

use std::fmt;

use autokernel_core::Arch;
use autokernel_core::gpu::{Multiprocessor, RESERVED_SHARED_BYTES, WARP_THREADS};

use crate::family::Family;
use crate::knob::schedule;
use crate::matmul::geometry::Geometry;
use crate::matmul::many::Many;
use crate::matmul::problem::{Class, Layout};
use crate::matmul::raster::Raster;

pub use default::portfolio;
pub use plan::{constants, plan};
pub use rules::RULES;
pub use space::images;

/// Elements of a word of 16 bytes, and so the places within one at which a row may begin.
const WORD_ELEMENTS: u32 = 8;
/// `mma.m16n8k16`: 16 columns of C by 8 rows of it.
const MMA_COLUMNS: u32 = 16;
const MMA_ROWS: u32 = 8;
const MMA_K: u32 = 16;
/// Registers beside accumulators and words: fragments, addresses, words on their way to shared memory.
const WORKING_REGISTERS: u32 = 76;
/// And of lanes that shift what they load.
const SHIFTING_REGISTERS: u32 = 12;
/// How many blocks of a multiprocessor have use for it.
pub(super) const MAX_BLOCKS_PER_SM: u32 = 4;

schedule! {
    /// A schedule of the skinny_sm80 family.
    SkinnySchedule {
        /// Rows of `C` a block computes.
        tile_m: u32, "multiples of 8 from 8 to 64",
        "m rounded up to 8, 16, 32 or 64: B is read once for each tile_m rows.",
        { pairs: &["tile_n", "stages"], reluctance: 32 };
        /// Columns of `B` a block loads. Of `C` it computes as many, with `B` stored as [k, n] 8 fewer.
        tile_n: u32, "with `B` stored as [k, n] 64, 128; as [n, k] 16, 32, 64",
        "The smallest: more blocks have work. A wider tile loads A's rows less often.",
        { pairs: &["stages"], reluctance: 16 };
        /// Elements of K of which `A`'s rows are in shared memory at once.
        tile_k: u32, "multiples of stages * warps * (16, with `B` stored as [n, k] 32)",
        "All of k where it fits: each stretch costs two barriers, and until its rows are there nothing is multiplied.",
        { reluctance: 4, is_variant: true };
        /// Warps of a block, which share K.
        warps: u32, "8, 16",
        "8, so that two blocks or more share an SM; 16 where there are fewer tiles than SMs.",
        { pairs: &["stages"], reluctance: 8 };
        /// Steps along K whose words a warp has requested before it multiplies the first.
        stages: u32, "1 … 4",
        "As many as registers allow: an SM needs about 36 KiB on their way to saturate the memory of an H200.",
        { reluctance: 2, is_variant: true };
        /// Whether a launch is set up while the kernel before still runs.
        overlap: bool, "`false`, `true`; `true` on Hopper alone",
        "`true`.", { reluctance: 1, is_variant: true };
    }
    /// The order of tiles.
    raster: Raster { order, group }
}

/// Whether there is such a kernel for problems of `class`, by some schedule.
pub fn serves(class: &Class) -> bool {
    let Class { input, weights, block, layout, .. } = class;
    let is_plain =
        input.bytes() == 2 && weights.is_none() && block.is_none() && [Layout::Nn, Layout::Nt].contains(layout);
    let is_one = class.products() == 1 && class.many() == Many::One && !class.gathers();
    let is_element_wise =
        class.statistics() == 0 && class.writes_c() && class.partners().is_none() && class.made().is_none();
    is_plain && is_one && is_element_wise
}

impl fmt::Display for SkinnySchedule {
    /// One short line: `skinny_sm80 16x64x4096 s2 warps 8 overlap along_m/1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SkinnySchedule { tile_m, tile_n, tile_k, warps, stages, overlap, raster } = self;
        let overlap = if *overlap { "overlap " } else { "" };
        write!(f, "skinny_sm80 {tile_m}x{tile_n}x{tile_k} s{stages} warps {warps} {overlap}{raster}")
    }
}

impl SkinnySchedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "For few rows of A, and for factors whose rows do not begin at multiples of 16 bytes, which are read where they \
         lie. One block computes one tile of C. Its warps share K: each streams words of B of its own from memory into registers, stages \
         steps ahead and with no barrier between them, and multiplies them with mma.sync m16n8k16 by rows of A from shared memory. In \
         the end the sums of the warps are added in order.";

    /// Threads of one block.
    pub fn threads(&self) -> u32 {
        self.warps * WARP_THREADS
    }

    /// Registers of a thread without a body, about.
    pub fn registers(&self) -> u32 {
        // Of B stored as [k, n]; as [n, k] a stage's words take four times as many: the rules count by the layout.
        self.accumulators() + self.tile_n / 4 * self.stages + WORKING_REGISTERS
    }

    pub(super) fn registers_for(&self, class: &Class) -> u32 {
        let (words, shifting) =
            if class.layout.transpose_b() { (self.tile_n / 4, SHIFTING_REGISTERS) } else { (self.tile_n / 16, 0) };
        self.accumulators() + (4 * words * self.stages).max(class.body_registers()) + WORKING_REGISTERS + shifting
    }

    /// fp32 accumulators of one thread.
    pub fn accumulators(&self) -> u32 {
        self.tile_m * self.tile_n / WARP_THREADS
    }

    /// Blocks for which a multiprocessor like `sm` has registers and shared memory, and use.
    fn blocks_per_sm(&self, class: &Class, sm: Multiprocessor) -> u32 {
        let by_registers = sm.registers / (self.registers_for(class) * self.threads()).max(1);
        let by_shared = sm.shared_bytes / (self.shared_bytes(class) + RESERVED_SHARED_BYTES);
        let by_threads = sm.threads / self.threads().max(1);
        by_registers.min(by_shared).min(by_threads).clamp(1, MAX_BLOCKS_PER_SM)
    }

    /// Columns of `C` of a tile: where rows of `B` begin at different places within a word, the words that a tile loads of each
    /// have these in common.
    fn columns(&self, class: &Class) -> u32 {
        if class.layout.transpose_b() { self.tile_n } else { self.tile_n.saturating_sub(WORD_ELEMENTS) }
    }

    /// Elements of K that all warps multiply in a step.
    fn step_k(&self, class: &Class) -> u32 {
        self.warps * if class.layout.transpose_b() { 2 * MMA_K } else { MMA_K }
    }

    /// Dynamic shared memory of one block, in bytes: rows of `A` and sums.
    pub fn shared_bytes(&self, class: &Class) -> u32 {
        let pitch = if class.layout.transpose_b() {
            self.tile_k + 32
        } else {
            WORD_ELEMENTS * (self.tile_k / WORD_ELEMENTS + WORD_ELEMENTS) + 16
        };
        let rows = self.tile_m * pitch * class.input.bytes();
        let sums = self.warps * MMA_ROWS * (self.columns(class).next_multiple_of(MMA_COLUMNS) + 1) * 4;
        rows + sums
    }

    pub(super) fn geometry(&self, class: &Class) -> Geometry {
        Geometry {
            family: Family::SkinnySm80,
            tile_m: self.tile_m,
            tile_n: self.tile_n,
            columns: self.columns(class),
            tile_k: self.step_k(class),
            cluster_m: 1,
            cluster_n: 1,
            swap_ab: false,
            split_k: 1,
            threads: self.threads(),
            shared_bytes: self.shared_bytes(class),
            raster: self.raster,
        }
    }
}

/// Whether launches of an arch may begin before the one before has ended.
const fn overlaps(arch: Arch) -> bool {
    matches!(arch, Arch::SM_90A)
}

#[cfg(test)]
mod tests;
