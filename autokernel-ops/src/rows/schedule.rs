//! How a row-wise kernel is computed: the schedules of `rows_sm80.cuh`.

use std::fmt;

use autokernel_core::Arch;

pub use super::passes::Keep;
use super::problem::Class;
use super::rules::{self, RULES};
use crate::knob::{At, Knob, KnobValue};
use crate::rule::{self, BrokenRule};
use crate::search::Search;

macro_rules! schedule {
    ($(
        $(#[doc = $line:literal])+
        $knob:ident: $ty:ty, $legal:literal, $advice:literal;
    )+) => {
        /// A schedule of the portable family of row-wise kernels.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct RowsSchedule {
            $($(#[doc = $line])+ pub $knob: $ty,)+
        }

        impl RowsSchedule {
            /// Its knobs, in the order of [`codes`](Self::codes).
            pub const KNOBS: &[Knob] = &[
                $(Knob {
                    name: stringify!($knob),
                    path_v1: stringify!($knob),
                    at: At::Image,
                    kind: <$ty as KnobValue>::KIND,
                    absent: None,
                    meaning: &[$($line),+],
                    legal: $legal,
                    advice: $advice,
                    search: Search::PLAIN,
                },)+
            ];

            /// The values of its knobs.
            pub fn codes(&self) -> impl Iterator<Item = u16> {
                [$(self.$knob.code(),)+].into_iter()
            }

            /// The schedule whose knobs have these values, if all of them can be had.
            pub fn from_codes(codes: &[u16]) -> Option<Self> {
                let mut codes = codes.iter().copied();
                let mut next = || codes.next();
                Some(RowsSchedule { $($knob: <$ty as KnobValue>::from_code(next()?)?,)+ })
            }
        }
    };
}

schedule! {
    /// Threads of a block that share a row.
    threads_per_row: u32, "4, 8, 16, 32, 64, 128, 256, 512, 1024",
    "As many as leave each thread 2 to 8 vectors of a row: 8 to 32 for 256 columns, 128 to 256 for 4096, 512 to 1024 \
     for 65536. Up to 32 a reduction needs no barrier.";
    /// Rows that a block takes at a time.
    rows_per_block: u32, "1, 2, 4, 8, 16, 32, 64",
    "So many that a block has 128 to 512 threads; 1 where a row has as many itself.";
    /// Columns of a vector.
    vector: u32, "2, 4, 8",
    "8 for 16-bit elements and 4 for fp32 are accesses of 16 bytes.";
    /// Blocks of a cluster that share a row: from 1 on for Hopper alone, where a launch then begins before the one before it
    /// has ended; 0 for a kernel of every GPU.
    cluster: u32, "0, 1, 2, 4, 8",
    "1 on Hopper. Where a row has more than 16384 columns, 2 with blocks that stay, or 4 of blocks that do not; more wait \
     longer for each other.";
    /// Vectors of a row that a thread requests at once and holds from pass to pass.
    vectors: u32, "1, 2, 4, 8",
    "threads_per_row * vector * vectors columns of a row are read once; the rest again in each pass. Two vectors and \
     more keep enough loads in flight.";
    /// What a thread keeps of its elements from one pass to the next.
    keep: Keep, "inputs, values",
    "values saves what is dear to compute again, as exponentials; inputs saves registers where rows are long.";
    /// Blocks that each SM is given to walk over the rows, the next of which is on its way to shared memory while they compute
    /// one; 0 for a block for each of its rows.
    blocks_per_sm: u32, "0, 1, 2, 4, 8",
    "0 where an SM holds several rows at once, whose loads cover each other's arithmetic; 1 where it holds one.";
}

impl RowsSchedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "threads_per_row threads take a row, each the vectors t, t + threads_per_row, and so on; they \
                             request all that they hold before they use the first, keep it in registers from pass to \
                             pass, and reduce by shuffles and shared memory. A row longer than what they hold is read \
                             again in each pass. Speed comes from loads in flight: of several blocks an SM, or of the \
                             next row of blocks that stay.";

    /// Threads of one block.
    pub fn threads(&self) -> u32 {
        self.threads_per_row.saturating_mul(self.rows_per_block)
    }

    /// Registers of a thread, about: of a body that reads one matrix of 16-bit elements and keeps one value of each.
    pub fn registers(&self) -> u32 {
        rules::registers_for(self, self.vector / 2, self.vector, 0).min(rules::available(self))
    }

    /// Columns of a row that its threads hold.
    pub fn held_columns(&self) -> u32 {
        let threads = self.threads_per_row.saturating_mul(self.cluster.max(1));
        threads.saturating_mul(self.vector).saturating_mul(self.vectors)
    }

    /// Whether this schedule compiles without spills and runs for `class` on `arch`.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &Class, arch: Arch) -> Result<(), BrokenRule> {
        rule::check(RULES, self, class, arch)
    }

    /// The schedule that serves rows of about `columns` elements where nothing was tuned.
    pub fn for_columns(class: &Class, columns: u32, arch: Arch) -> Self {
        let widest = class.matrices().map(|dtype| dtype.bytes()).max().unwrap_or(4);
        let narrowest = class.matrices().map(|dtype| dtype.bytes()).min().unwrap_or(4);
        let vector = if narrowest == 4 && widest == 4 { 4 } else { 8 };
        let needed = (columns / vector).max(1);
        let (vectors, most_threads) = if class.passes.len() > 1 { HELD } else { READ_ONCE };
        let threads_per_row = needed.div_ceil(vectors).next_power_of_two().clamp(LEAST_THREADS, most_threads);
        let mut schedule = RowsSchedule {
            threads_per_row,
            rows_per_block: (BLOCK_THREADS / threads_per_row).max(1),
            vector,
            cluster: u32::from(arch == Arch::SM_90A),
            vectors: needed.div_ceil(threads_per_row).next_power_of_two().clamp(1, vectors),
            keep: Keep::Values,
            blocks_per_sm: 0,
        };
        schedule.take_long_rows(class, needed);
        // Less until it fits the registers; what is then no longer held is read again.
        while schedule.check(class, arch).is_err() {
            match schedule {
                RowsSchedule { blocks_per_sm: 1.., .. } => schedule.take_a_cluster_a_row(needed, vectors),
                RowsSchedule { keep: Keep::Values, .. } if class.kept > 0 => schedule.keep = Keep::Inputs,
                RowsSchedule { threads_per_row: 1024, .. } => schedule.threads_per_row = 512,
                RowsSchedule { vectors: 2.., .. } => schedule.vectors /= 2,
                _ => break,
            }
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
        } else if class.read_matrices().count() == 1 {
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

/// Vectors of a thread and the most threads of a row that several passes need, where nothing was tuned.
const HELD: (u32, u32) = (4, 1024);
/// The same where one pass reads a row once, however long it is.
const READ_ONCE: (u32, u32) = (2, 1024);
const MOST_THREADS: u32 = 1024;
/// Blocks of a cluster at most.
const MOST_BLOCKS: u32 = 8;
/// Columns that a thread holds at most.
pub(super) const MOST_COLUMNS: u32 = 32;
/// Threads of a row: no fewer than it has single elements beside its vectors, or about.
const LEAST_THREADS: u32 = 16;
/// Threads of a block where nothing was tuned.
const BLOCK_THREADS: u32 = 128;

impl fmt::Display for RowsSchedule {
    /// One short line: `rows_sm80 256x1 v8x4 keeps values`, with `4 blocks an SM` where it is persistent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowsSchedule { threads_per_row, rows_per_block, vector, cluster, vectors, keep, blocks_per_sm } = self;
        let keep = match keep {
            Keep::Inputs => "inputs",
            Keep::Values => "values",
        };
        write!(f, "rows_sm80 {threads_per_row}x{rows_per_block} v{vector}x{vectors} keeps {keep}")?;
        if *cluster > 0 {
            write!(f, " cluster {cluster}")?;
        }
        if *blocks_per_sm > 0 {
            write!(f, " {blocks_per_sm} blocks an SM")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
