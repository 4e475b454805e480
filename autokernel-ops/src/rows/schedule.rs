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
    /// Threads that share a row.
    threads_per_row: u32, "4, 8, 16, 32, 64, 128, 256, 512, 1024",
    "As many as leave each thread 2 to 8 vectors of a row: 8 to 32 for 256 columns, 128 to 256 for 4096, 512 to 1024 \
     for 65536. Up to 32 a reduction needs no barrier.";
    /// Rows that a block takes at a time.
    rows_per_block: u32, "1, 2, 4, 8, 16, 32, 64",
    "So many that a block has 128 to 512 threads; 1 where a row has as many itself.";
    /// Columns of a vector.
    vector: u32, "2, 4, 8",
    "8 for 16-bit elements and 4 for fp32 are accesses of 16 bytes.";
    /// Vectors of a row that a thread requests at once and holds from pass to pass.
    vectors: u32, "1, 2, 4, 8",
    "threads_per_row * vector * vectors columns of a row are read once; the rest again in each pass. Two vectors and \
     more keep enough loads in flight.";
    /// What a thread keeps of its elements from one pass to the next.
    keep: Keep, "inputs, values",
    "values saves what is dear to compute again, as exponentials; inputs saves registers where rows are long.";
    /// Blocks that each SM is given to walk over the rows; 0 for a block for each of its rows.
    blocks_per_sm: u32, "0, 1, 2, 4, 8",
    "0 where rows are long or few; as many as fit an SM where there are thousands of short ones.";
}

impl RowsSchedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "threads_per_row threads take a row, each the vectors t, t + threads_per_row, and so on; they \
                             request all that they hold before they use the first, keep it in registers from pass to \
                             pass, and reduce by shuffles and shared memory. A row longer than what they hold is read \
                             again in each pass.";

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
        self.threads_per_row.saturating_mul(self.vector).saturating_mul(self.vectors)
    }

    /// Whether this schedule compiles without spills and runs for `class` on `arch`.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &Class, arch: Arch) -> Result<(), BrokenRule> {
        rule::check(RULES, self, class, arch)
    }

    /// The schedule that serves rows of about `columns` elements where nothing was tuned.
    pub fn for_columns(class: &Class, columns: u32) -> Self {
        let widest = class.matrices().map(|dtype| dtype.bytes()).max().unwrap_or(4);
        let narrowest = class.matrices().map(|dtype| dtype.bytes()).min().unwrap_or(4);
        let vector = if narrowest == 4 && widest == 4 { 4 } else { 8 };
        let needed = columns.div_ceil(vector).max(1);
        let mut schedule = RowsSchedule {
            threads_per_row: needed.div_ceil(VECTORS).next_power_of_two().clamp(8, 1024),
            rows_per_block: 1,
            vector,
            vectors: VECTORS,
            keep: Keep::Values,
            blocks_per_sm: 0,
        };
        schedule.rows_per_block = (BLOCK_THREADS / schedule.threads_per_row).max(1);
        schedule.vectors = needed.div_ceil(schedule.threads_per_row).next_power_of_two().clamp(1, MOST_VECTORS);
        // Less until it fits the registers; what is then no longer held is read again.
        while schedule.check(class, Arch::SM_80).is_err() {
            match schedule {
                RowsSchedule { keep: Keep::Values, .. } if class.kept > 0 => schedule.keep = Keep::Inputs,
                RowsSchedule { threads_per_row: 1024, .. } => schedule.threads_per_row = 512,
                RowsSchedule { vectors: 2.., .. } => schedule.vectors /= 2,
                _ => break,
            }
        }
        schedule
    }

    /// The schedule that is safe on every arch when nothing was tuned: for rows of a few thousand elements.
    pub fn default_for(class: &Class) -> Self {
        Self::for_columns(class, 4096)
    }
}

/// Vectors a thread holds where nothing was tuned.
const VECTORS: u32 = 4;
/// The most vectors that a thread holds.
const MOST_VECTORS: u32 = 8;
/// Threads of a block where nothing was tuned.
const BLOCK_THREADS: u32 = 256;

impl fmt::Display for RowsSchedule {
    /// One short line: `rows_sm80 256x1 v8x4 keeps values`, with `4 blocks an SM` where it is persistent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowsSchedule { threads_per_row, rows_per_block, vector, vectors, keep, blocks_per_sm } = self;
        let keep = match keep {
            Keep::Inputs => "inputs",
            Keep::Values => "values",
        };
        write!(f, "rows_sm80 {threads_per_row}x{rows_per_block} v{vector}x{vectors} keeps {keep}")?;
        if *blocks_per_sm > 0 {
            write!(f, " {blocks_per_sm} blocks an SM")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
