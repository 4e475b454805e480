//! How a row-wise kernel is computed by the schedules of `rows_sm90.cuh`.

use std::fmt;

use crate::knob::schedule;
use crate::rows::passes::Keep;
use crate::rows::sm80::Sm80Schedule;

schedule! {
    /// A schedule of Hopper's family of row-wise kernels.
    Sm90Schedule {
        /// Threads of a block that share a row: a team.
        threads_per_row: u32, "128, 256, 512, 1024",
        "As many as leave each thread 2 to 4 vectors of 16 bytes of its block's part of a row: 512 for 32 KiB.";
        /// Teams of a block, each of which takes rows of its own while the others wait or compute.
        rows_per_block: u32, "1, 2, 4",
        "2 with 512 threads each: while one reduces, the other computes. 1 where a row takes 1024 threads.";
        /// Columns of a vector.
        vector: u32, "4, 8",
        "8 for 16-bit elements and 4 for fp32 are accesses of 16 bytes.";
        /// Blocks of a cluster that share a row.
        cluster: u32, "1, 2, 4, 8",
        "As few as hold a row; from 4 on some multiprocessors have no block.";
        /// Vectors of a row that a thread holds from pass to pass.
        vectors: u32, "1, 2, 4, 8",
        "2 to 4; threads_per_row * cluster * vector * vectors columns fit, and longer rows are left to rows_sm80.";
        /// Rows of a team that are on their way to shared memory at once.
        stages: u32, "1, 2, 3, 4, 6, 8",
        "So many that a block has 64 KiB on their way; what is left is the L1 cache's, which serves Rows that are not kept.";
        /// What a thread keeps of its elements from one pass to the next.
        keep: Keep, "inputs, values",
        "values saves what is dear to compute again, as exponentials; inputs saves registers.";
        /// Whether a block reads its part of each Row once a launch, and keeps it in shared memory.
        keeps_rows: bool, "false, true",
        "true where Rows are long: the second level of the cache gives them to each row again otherwise.";
        /// Whether two reductions of which the second needs the first are made in one pass, and cross the threads of a row once.
        joins: bool, "false, true",
        "false with several teams, which cover the wait; true where one team takes the rows of a block.";
        /// Blocks that each SM is given to stay.
        blocks_per_sm: u32 = 1, "1, 2, 3, 4, 6, 8",
        "As many as fit, of one team of 256 threads with parts of 16 to 32 KiB: the loads and stores of some cover the reductions of \
         others.";
        /// Whether teams draw their rows from a counter of the launch, in the place of equal shares.
        draws: bool = 0, "false, true",
        "true where there are many rows: some SMs are faster at reading and writing than others.";
    }
}

impl Sm90Schedule {
    /// How the family works, in a paragraph.
    pub const ABOUT: &str = "Blocks stay, one or a few an SM; bulk copies bring rows to rings in their shared memory, stages \
                             ahead of the threads. rows_per_block teams of threads_per_row threads take rows in turn, hold them in \
                             registers from pass to pass, and do not wait for each other. A cluster's blocks each take a \
                             part of a row. Speed comes from copies that never pause, and from teams and blocks that cover each \
                             other's reductions; worth it for rows of 32 KiB and more, of which there are many.";

    /// Threads of one block.
    pub fn threads(&self) -> u32 {
        self.threads_per_row.saturating_mul(self.rows_per_block)
    }

    /// Columns of a row that a block's threads hold.
    pub fn part_columns(&self) -> u32 {
        self.threads_per_row.saturating_mul(self.vector).saturating_mul(self.vectors)
    }

    /// Columns of a row that its threads hold.
    pub fn held_columns(&self) -> u32 {
        self.part_columns().saturating_mul(self.cluster)
    }

    /// The schedule of the portable family whose threads hold rows as these do: blocks that stay, which load rows themselves.
    pub fn portable(&self) -> Sm80Schedule {
        let Sm90Schedule { threads_per_row, rows_per_block, vector, cluster, vectors, keep, joins, .. } = *self;
        Sm80Schedule {
            threads_per_row,
            rows_per_block,
            vector,
            cluster,
            vectors,
            keep,
            blocks_per_sm: 1,
            joins,
            parked: 0,
            keeps_rows: false,
        }
    }

    /// Registers of a thread, about.
    pub fn registers(&self) -> u32 {
        self.portable().registers()
    }
}

impl fmt::Display for Sm90Schedule {
    /// One short line: `rows_sm90 512x2 v8x4 3 stages keeps values and rows cluster 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sm90Schedule { threads_per_row, rows_per_block, vector, vectors, stages, keep, .. } = self;
        write!(
            f,
            "rows_sm90 {threads_per_row}x{rows_per_block} v{vector}x{vectors} {stages} stages keeps {}",
            keep.name()
        )?;
        if self.keeps_rows {
            f.write_str(" and rows")?;
        }
        if self.cluster > 1 {
            write!(f, " cluster {}", self.cluster)?;
        }
        if self.blocks_per_sm > 1 {
            write!(f, " {} blocks an SM", self.blocks_per_sm)?;
        }
        if self.joins {
            f.write_str(" joins")?;
        }
        if self.draws {
            f.write_str(" draws")?;
        }
        Ok(())
    }
}
