//! Which schedule serves rows of a width where nothing was tuned.

use autokernel_core::Arch;
use autokernel_core::gpu::WARP_THREADS;

use super::rules::{parked_bytes, resident_blocks};
use super::schedule::{MOST_COLUMNS, Sm80Schedule};
use crate::rows::passes::Keep;
use crate::rows::problem::Class;

/// Vectors of a thread and the most threads of a row that several passes need, where nothing was tuned.
const HELD: (u32, u32) = (4, 1024);
/// The same where one pass reads a row once, however long it is.
const READ_ONCE: (u32, u32) = (2, 1024);
/// The same of elements of 16 bits where nothing is reduced, so that blocks take parts of a row: many small ones cover each other's
/// arithmetic (`docs/results/rows-h200/parts.txt`).
const SHORT_PARTS: (u32, u32) = (1, 256);
/// The same of longer elements: 1024 threads are up to 2 % behind where launches overlap (`docs/results/rows-h200/parts-emitted.txt`).
const PARTS: (u32, u32) = (2, 512);
const MOST_THREADS: u32 = 1024;
/// Blocks of a cluster at most.
const MOST_BLOCKS: u32 = 8;
/// Threads of a row from which on an SM holds two rows at most, so that little covers what they wait for each other.
const ALONE_THREADS: u32 = 512;
/// Threads of a long row without clusters, and vectors of each in registers and in shared memory: the first where an SM has room for two such
/// blocks, whose arithmetic and loads cover each other (`docs/results/rows-h200/parts.txt`).
pub(super) const PARKED: [(u32, u32, u32); 4] = [(512, 6, 10), (1024, 6, 10), (1024, 4, 4), (1024, 2, 4)];
const ONE_OF_TWO_BYTES: u32 = 80 << 10;
/// Threads of a row: no fewer than it has single elements beside its vectors, or about.
const LEAST_THREADS: u32 = 16;
/// Columns of a long row, and threads of each block that shares one with seven others.
const LONG_COLUMNS: u32 = 65_536;
const SHARING_THREADS: u32 = 256;
/// Vectors along a strip, of rows of at most so many; longer rows have [`STRIP_VECTORS`] (`docs/results/rows-h200/columns.txt`).
const STRIPS: [(u32, u32); 2] = [(64, 8), (256, 16)];
const STRIP_VECTORS: u32 = 32;
/// Threads of a block that takes one, and vectors that each has under way of a matrix that is read alone.
const STRIP_BLOCK_THREADS: u32 = 256;
const VECTORS_OF_ONE: u32 = 4;
/// Columns, about, of rows that begin anywhere, threads of a block that stays with such, and blocks an SM.
const SHIFTED_COLUMNS: u32 = 4096;
const SHIFTED_THREADS: u32 = 256;
const SHIFTED_BLOCKS: [u32; 3] = [4, 3, 2];
/// Threads of a block where nothing was tuned.
const BLOCK_THREADS: u32 = 128;

impl Sm80Schedule {
    /// The schedule that serves rows of about `columns` elements where nothing was tuned.
    pub fn for_columns(class: &Class, columns: u32, arch: Arch) -> Self {
        let widest = class.matrices().map(|dtype| dtype.bytes()).max().unwrap_or(4);
        let narrowest = class.matrices().map(|dtype| dtype.bytes()).min().unwrap_or(4);
        let vector = if narrowest == 4 && widest == 4 { 4 } else { 8 };
        let needed = (columns / vector).max(1);
        if class.is_by_columns() {
            return Self::along_columns(class, vector, needed, arch);
        }
        let (vectors, most_threads) = match class.passes.len() {
            0 | 1 if class.is_elementwise() && widest < 4 => SHORT_PARTS,
            0 | 1 if class.is_elementwise() => PARTS,
            0 | 1 => READ_ONCE,
            _ => HELD,
        };
        let threads_per_row = needed.div_ceil(vectors).next_power_of_two().clamp(LEAST_THREADS, most_threads);
        let mut schedule = Sm80Schedule {
            threads_per_row,
            rows_per_block: (BLOCK_THREADS / threads_per_row).max(1),
            vector,
            cluster: u32::from(arch == Arch::SM_90A),
            vectors: needed.div_ceil(threads_per_row).next_power_of_two().clamp(1, vectors),
            keep: Keep::Values,
            blocks_per_sm: 0,
            joins: false,
            parked: 0,
            keeps_rows: false,
        };
        schedule.take_long_rows(class, needed);
        // Less until it fits the registers; what is then no longer held is read again.
        while schedule.check(class, arch).is_err() {
            match schedule {
                Sm80Schedule { blocks_per_sm: 1.., .. } => schedule.take_a_cluster_a_row(needed, vectors),
                Sm80Schedule { keep: Keep::Values, .. } if class.kept > 0 => schedule.keep = Keep::Inputs,
                Sm80Schedule { threads_per_row: 1024, .. } => schedule.threads_per_row = 512,
                Sm80Schedule { vectors: 2.., .. } => schedule.vectors /= 2,
                // Of many operands even one vector each is much.
                Sm80Schedule { threads_per_row: 512, .. } => schedule.threads_per_row = 256,
                Sm80Schedule { vector: 4.., .. } => schedule.vector /= 2,
                _ => break,
            }
        }
        if let Some(parked) = schedule.parking(class, needed, arch) {
            return parked;
        }
        let joining = Sm80Schedule { joins: true, ..schedule };
        let is_alone = schedule.threads_per_row >= ALONE_THREADS || schedule.cluster > 1;
        // On an H200 softmax takes 3 % less time so at 16384 columns and as much at 65536, layer_norm as much and 6 % more; of rows that are read again
        // both do.
        let pays =
            is_alone && class.may_join_exponentials() || needed * vector > schedule.held_columns() && class.may_join();
        if pays && joining.check(class, arch).is_ok() { joining } else { schedule }
    }

    /// The schedule of blocks that keep `Row`s as rows that begin anywhere need them, where each would read several again; none where no such schedule
    /// keeps the rules, nor on Hopper, whose own family has one.
    pub fn for_shifted(class: &Class, arch: Arch) -> Option<Self> {
        if arch == Arch::SM_90A || !class.reads_rows_again() {
            return None;
        }
        let plain = Self::for_columns(class, SHIFTED_COLUMNS, arch);
        let of = |blocks_per_sm| Sm80Schedule {
            threads_per_row: SHIFTED_THREADS,
            rows_per_block: 1,
            vectors: SHIFTED_COLUMNS / SHIFTED_THREADS / plain.vector,
            blocks_per_sm,
            joins: false,
            parked: 0,
            keeps_rows: true,
            ..plain
        };
        SHIFTED_BLOCKS.into_iter().map(of).find(|schedule| schedule.check(class, arch).is_ok())
    }

    /// The same where shared memory holds what registers do not, so that a row is read once.
    fn parking(&self, class: &Class, needed: u32, arch: Arch) -> Option<Self> {
        // Beside `Row`s of 16 bits, as many as matrices, which each row reads from L2, an H200 has more time for the row to come from there, too.
        let reads_rows = class.read_rows().filter(|dtype| dtype.bytes() < 4).count() >= class.read_matrices().count();
        if self.cluster > 1 || needed.saturating_mul(self.vector) <= self.held_columns() || reads_rows {
            return None;
        }
        let of = |(threads_per_row, vectors, parked), keep| Sm80Schedule {
            threads_per_row,
            vectors,
            parked,
            keep,
            blocks_per_sm: 0,
            joins: false,
            ..*self
        };
        let mut tried = PARKED.into_iter().flat_map(|it| [Keep::Values, Keep::Inputs].map(|keep| of(it, keep)));
        tried.find(|it| {
            let is_alone = it.threads_per_row > ALONE_THREADS;
            let is_of_two = parked_bytes(it, class) <= ONE_OF_TWO_BYTES && resident_blocks(it, class) > 1;
            let holds = it.held_columns() >= needed * self.vector || is_alone;
            holds && (is_alone || is_of_two) && it.check(class, arch).is_ok()
        })
    }

    /// Hopper's schedule for long rows that are too few for all SMs: eight blocks share one.
    pub fn for_few_long_rows(class: &Class, arch: Arch) -> Option<Self> {
        let wide = Self::for_columns(class, LONG_COLUMNS, arch);
        let shared = Sm80Schedule {
            threads_per_row: SHARING_THREADS,
            cluster: MOST_BLOCKS,
            vectors: MOST_COLUMNS / wide.vector,
            blocks_per_sm: 0,
            joins: false,
            ..wide
        };
        let held = [shared.vectors, shared.vectors / 2].map(|vectors| Sm80Schedule { vectors, ..shared });
        let schedule = held.into_iter().find(|schedule| schedule.check(class, arch).is_ok())?;
        let joining = Sm80Schedule { joins: true, ..schedule };
        let pays = class.may_join_exponentials() && joining.check(class, arch).is_ok();
        Some(if pays { joining } else { schedule })
    }

    /// What is carried in place of this one where Hopper's family has a schedule that holds so many columns: two blocks that share a row lead
    /// nowhere then, and one that holds half as much, or a quarter, does where there are a few rows (`docs/results/rows-h100/choice-seed307.txt`).
    pub fn beside_rings_of(self, columns: u32, class: &Class, arch: Arch) -> Self {
        let is_shared = (self.threads_per_row, self.cluster, self.blocks_per_sm) == (MOST_THREADS, 2, 1);
        let alone = [self.vectors, self.vectors / 2].map(|vectors| Sm80Schedule {
            vectors,
            cluster: 1,
            blocks_per_sm: 0,
            ..self
        });
        let mut held =
            alone.into_iter().filter(|it| is_shared && columns >= self.held_columns() && it.check(class, arch).is_ok());
        held.next().unwrap_or(self)
    }

    /// Strips of whole lines of memory, of short rows so narrow that not all blocks have parts of the same ones. Of several matrices many
    /// threads with one vector of each under way lead fewer with more, which registers would ask for.
    fn along_columns(class: &Class, vector: u32, needed: u32, arch: Arch) -> Self {
        let strip =
            STRIPS.into_iter().find(|(vectors, _)| needed <= *vectors).map_or(STRIP_VECTORS, |(_, threads)| threads);
        let mut schedule = Sm80Schedule {
            threads_per_row: strip,
            rows_per_block: STRIP_BLOCK_THREADS / strip,
            vector,
            cluster: u32::from(arch == Arch::SM_90A),
            vectors: if class.read_matrices().count() > 1 { 1 } else { VECTORS_OF_ONE },
            keep: Keep::Values,
            blocks_per_sm: 0,
            joins: false,
            parked: 0,
            keeps_rows: false,
        };
        while schedule.check(class, arch).is_err() && schedule.threads() > WARP_THREADS {
            schedule.rows_per_block /= 2;
        }
        schedule
    }

    /// Of rows of which an SM holds one at a time, the next must be on its way meanwhile; longer ones are shared by two.
    fn take_long_rows(&mut self, class: &Class, needed: u32) {
        let held = self.threads_per_row * self.vectors;
        if self.threads_per_row < MOST_THREADS || class.passes.len() < 2 {
            return;
        }
        if needed > held && self.cluster > 0 {
            (self.cluster, self.blocks_per_sm) = (2, 1);
            self.vectors = if needed > 2 * held { MOST_COLUMNS / self.vector } else { self.vectors };
        } else if needed <= held && class.read_matrices().count() == 1 {
            self.blocks_per_sm = 1;
        }
    }

    /// Blocks that do not stay: as many as hold a row together, where a cluster has as many.
    fn take_a_cluster_a_row(&mut self, needed: u32, vectors: u32) {
        let blocks = needed.div_ceil(self.threads_per_row * vectors).next_power_of_two();
        let cluster = if blocks <= MOST_BLOCKS { blocks } else { 1 };
        (self.blocks_per_sm, self.vectors, self.cluster) = (0, vectors, cluster.min(self.cluster * MOST_BLOCKS));
    }

    /// The schedule that is safe on `arch` when nothing was tuned: for rows of a few thousand elements.
    pub fn default_for(class: &Class, arch: Arch) -> Self {
        Self::for_columns(class, 4096, arch)
    }
}
