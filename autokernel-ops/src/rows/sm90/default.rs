//! Which schedules of Hopper's family a kernel carries where nothing was tuned.

use autokernel_core::Arch;

use super::schedule::Sm90Schedule;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;
use crate::rows::sm80::MOST_COLUMNS;

/// The widths, in columns, for which rows may have a schedule.
const WIDTHS: [u32; 3] = [8192, 16_384, 65_536];
/// Threads of a block.
const THREADS: u32 = 512;
const MOST_BLOCKS: u32 = 8;
/// Bytes of a block's piece of a row of which an SM has two blocks; of longer ones one.
const PAIRED_BYTES: u32 = 32 << 10;
/// Blocks an SM of half the threads, each with two rows on their way: more than others hold.
const SMALL_BLOCKS: u32 = 3;
/// Bytes of a row of one matrix. On an H200, against the portable family (`docs/results/rows-h200/pieces.txt`), the family leads from
/// `SHARED` on, at `ALONE_BYTES` of one matrix, and at `READ_AGAIN` of one matrix where the portable family reads several `Row`s
/// again for each row.
const SHARED: u32 = 128 << 10;
const ALONE_BYTES: u32 = 64 << 10;
const READ_AGAIN: u32 = 32 << 10;
/// Columns, about, of rows that begin anywhere; bytes of each thread of a block that takes those, and blocks an SM.
const SHIFTED_COLUMNS: u32 = 4096;
const SHIFTED_BYTES: u32 = 32;
const SHIFTED_BLOCKS: [u32; 3] = [4, 3, 2];

impl Sm90Schedule {
    /// The schedule that serves rows of about `columns` elements where nothing was tuned; none where no cluster holds them.
    pub fn for_columns(class: &Class, columns: u32, arch: Arch) -> Option<Self> {
        let vector = vector(class);
        let [is_long, is_wide] = [row_bytes(class, columns) >= SHARED, widest(class) > 2];
        let matrices: u32 = class.read_matrices().map(|dtype| dtype.bytes()).sum();
        let is_alone = class.read_matrices().count() == 1;
        if is_long && !is_wide && is_alone && class.read_rows().count() == 0 {
            let small = Self::of_small_blocks(class, columns);
            if small.cluster <= MOST_BLOCKS && small.check(class, arch).is_ok() {
                return Some(small);
            }
        }
        // Where several `Row`s are kept, two teams of a block share them.
        let teams = if class.reads_rows_again() { 2 } else { 1 };
        // Pieces of long rows are of as many bytes, whatever the elements.
        let (threads_per_row, most) = match (is_long && is_wide, is_alone) {
            (true, true) => (THREADS, MOST_COLUMNS / 2),
            (true, false) => (THREADS / 2, MOST_COLUMNS),
            (false, _) => (THREADS, MOST_COLUMNS),
        };
        let held = (columns / threads_per_row).next_power_of_two().clamp(vector, most);
        // A row more on its way helps where threads do not bound.
        let stages = if is_long && (is_wide || !is_alone || teams > 1) { 2 } else { 1 };
        let of = |held: u32, stages: u32, teams: u32| {
            let piece = threads_per_row * held * matrices;
            let alone = Sm90Schedule {
                threads_per_row,
                rows_per_block: teams,
                vector,
                cluster: columns.div_ceil(threads_per_row * held).max(1).next_power_of_two(),
                vectors: held / vector,
                stages,
                keep: Keep::Values,
                keeps_rows: class.read_rows().count() > 0,
                joins: false,
                blocks_per_sm: if teams == 1 && piece <= PAIRED_BYTES { 2 } else { 1 },
                draws: true,
            };
            alone.that_fits(class, arch)
        };
        let tried = [held, held / 2, held / 4].into_iter().filter(|held| *held >= vector);
        let mut tried =
            tried.flat_map(|held| [(held, stages, teams), (held, stages, 1), (held, 1, teams), (held, 1, 1)]);
        tried.find_map(|(held, stages, teams)| of(held, stages, teams))
    }

    /// For long rows of 16 bits that have shared memory to themselves. Beside `Row`s, which each block keeps, they lose
    /// (`docs/results/rows-h200/overlap.txt`).
    fn of_small_blocks(class: &Class, columns: u32) -> Self {
        let (threads_per_row, vector) = (THREADS / 2, vector(class));
        Sm90Schedule {
            threads_per_row,
            rows_per_block: 1,
            vector,
            cluster: columns.div_ceil(threads_per_row * MOST_COLUMNS).next_power_of_two(),
            vectors: MOST_COLUMNS / vector,
            stages: 2,
            keep: Keep::Values,
            keeps_rows: false,
            joins: false,
            blocks_per_sm: SMALL_BLOCKS,
            draws: true,
        }
    }

    /// The schedule of blocks that keep `Row`s as rows that begin anywhere need them; none where there are no such `Row`s.
    pub fn for_shifted(class: &Class, arch: Arch) -> Option<Self> {
        let vector = vector(class);
        let threads_per_row = SHIFTED_COLUMNS * widest(class) / SHIFTED_BYTES;
        let of = |blocks_per_sm| Sm90Schedule {
            threads_per_row,
            rows_per_block: 1,
            vector,
            cluster: 1,
            vectors: SHIFTED_COLUMNS / threads_per_row / vector,
            stages: 1,
            keep: Keep::Values,
            keeps_rows: true,
            joins: false,
            blocks_per_sm,
            draws: false,
        };
        SHIFTED_BLOCKS.into_iter().map(of).find(|schedule| schedule.check(class, arch).is_ok())
    }

    /// Whether its blocks keep `Row`s as rows that begin anywhere need them.
    pub fn shifts(&self) -> bool {
        self.rows_per_block == 1 && !self.draws && self.keeps_rows
    }

    /// This one, with fewer registers where all of it does not fit; none where no such schedule keeps the rules.
    fn that_fits(self, class: &Class, arch: Arch) -> Option<Self> {
        let joining = Sm90Schedule { joins: true, ..self };
        let less =
            [self, joining, Sm90Schedule { keep: Keep::Inputs, ..self }, Sm90Schedule { blocks_per_sm: 1, ..self }];
        less.into_iter().find(|it| it.cluster <= MOST_BLOCKS && it.check(class, arch).is_ok())
    }
}

/// Bytes of the widest element.
pub(super) fn widest(class: &Class) -> u32 {
    class.matrices().map(|dtype| dtype.bytes()).max().unwrap_or(4)
}

/// Accesses of 16 bytes.
fn vector(class: &Class) -> u32 {
    let narrowest = class.matrices().map(|dtype| dtype.bytes()).min().unwrap_or(4);
    if (narrowest, widest(class)) == (4, 4) { 4 } else { 8 }
}

/// Bytes of a row of the widest matrix that is read.
pub(super) fn row_bytes(class: &Class, columns: u32) -> u32 {
    columns.saturating_mul(class.read_matrices().map(|dtype| dtype.bytes()).max().unwrap_or(0))
}

/// The schedules for rows of widths at which they lead, each once, and one for rows that begin anywhere. A body of one pass leaves
/// rows as they come.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<Sm90Schedule> {
    let mut schedules = Vec::new();
    for columns in WIDTHS.into_iter().filter(|&columns| leads(class, columns)) {
        schedules.extend(Sm90Schedule::for_columns(class, columns, arch).filter(|it| !schedules.contains(it)));
    }
    schedules.extend(Sm90Schedule::for_shifted(class, arch).filter(|_| class.reads_rows_again()));
    schedules
}

/// Whether the family leads at rows of so many columns where there are many of them.
pub(super) fn leads(class: &Class, columns: u32) -> bool {
    let bytes = row_bytes(class, columns);
    let is_alone = class.read_matrices().count() == 1;
    let leads = bytes >= SHARED
        || is_alone && (ALONE_BYTES..SHARED).contains(&bytes)
        || class.reads_rows_again() && (READ_AGAIN..ALONE_BYTES).contains(&bytes);
    class.passes.len() > 1 && leads
}
