//! How a row-wise kernel is computed: the schedules of `rows_sm80.cuh`.

use std::fmt;

use crate::knob::schedule;
use crate::rows::passes::Keep;

schedule! {
    /// A schedule of the portable family of row-wise kernels.
    Sm80Schedule {
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
        vectors: u32, "1, 2, 4, 6, 8",
        "threads_per_row * vector * vectors columns of a row are read once; the rest again in each pass. Two vectors and \
         more keep enough loads in flight.";
        /// What a thread keeps of its elements from one pass to the next.
        keep: Keep, "inputs, values",
        "values saves what is dear to compute again, as exponentials; inputs saves registers where rows are long.";
        /// Blocks that each SM is given to walk over the rows, the next of which is on its way to shared memory while they compute
        /// one; 0 for a block for each of its rows.
        blocks_per_sm: u32, "0, 1, 2, 3, 4, 8",
        "0 where an SM holds several rows at once, whose loads cover each other's arithmetic; 1 where it holds one.";
        /// Whether two reductions of which the second needs the first (a maximum and exponentials relative to it, a mean and squares
        /// about it) are made in one pass, and cross the threads of a row once.
        joins: bool = 0, "false, true",
        "true where an SM holds one or two rows, whose threads would wait for each other twice, and where a row does not fit its \
         threads, as it is read again once less; false where others cover the wait.";
        /// Vectors of a row that a thread holds in shared memory, beside those in registers.
        parked: u32 = 0, "0 to 16",
        "0 where registers hold a row. 10 beside 6 in registers hold 65536 columns, of 1024 threads of f32, and of 512 of 16 bits, of which an \
         SM has two blocks; what neither holds is read again in each pass.";
        /// Whether blocks that stay keep `Row`s in shared memory, shifted once to where the vectors of their rows begin, and request the
        /// next of these to registers.
        keeps_rows: bool = 0, "false, true",
        "true where rows begin anywhere, which find no Row aligned, beside two Rows and more; 256 threads that hold 4096 columns, 4 blocks an SM.";
    }
}

impl Sm80Schedule {
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

    /// Columns that a block takes at most where nothing is reduced: what its threads hold, and the single elements of a row beside its vectors
    /// (`kColumns` of `rows_elementwise.cuh`).
    pub fn part_columns(&self) -> u32 {
        self.held_columns() + self.vector - 1
    }

    /// Columns of a row that its threads hold.
    pub fn held_columns(&self) -> u32 {
        let threads = self.threads_per_row.saturating_mul(self.cluster.max(1));
        threads.saturating_mul(self.vector).saturating_mul(self.vectors + self.parked)
    }

    /// Columns of a row that registers hold: what is requested at once where a row is read again.
    pub(super) fn stretch_columns(&self) -> u32 {
        Sm80Schedule { parked: 0, ..*self }.held_columns()
    }
}

/// Columns that a thread holds at most.
pub const MOST_COLUMNS: u32 = 32;

impl fmt::Display for Sm80Schedule {
    /// One short line: `rows_sm80 256x1 v8x4 keeps values`, with `4 blocks an SM` where it is persistent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sm80Schedule { threads_per_row, rows_per_block, vector, cluster, vectors, keep, .. } = self;
        let Sm80Schedule { blocks_per_sm, joins, parked, keeps_rows, .. } = self;
        let keep = match keep {
            Keep::Inputs => "inputs",
            Keep::Values => "values",
        };
        write!(f, "rows_sm80 {threads_per_row}x{rows_per_block} v{vector}x{vectors}")?;
        if *parked > 0 {
            write!(f, "+{parked}")?;
        }
        write!(f, " keeps {keep}")?;
        if *keeps_rows {
            f.write_str(" and rows")?;
        }
        if *cluster > 0 {
            write!(f, " cluster {cluster}")?;
        }
        if *blocks_per_sm > 0 {
            write!(f, " {blocks_per_sm} blocks an SM")?;
        }
        if *joins {
            f.write_str(" joins")?;
        }
        Ok(())
    }
}
