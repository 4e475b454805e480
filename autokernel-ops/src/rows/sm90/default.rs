//! Which schedules of Hopper's family a kernel carries where nothing was tuned.

use autokernel_core::Arch;

use super::schedule::RingSchedule;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;
use crate::rows::schedule::MOST_COLUMNS;

/// The widths, in columns, for which rows may have a schedule.
const WIDTHS: [u32; 2] = [16_384, 65_536];
/// Threads and teams of a block that takes an SM: two that cover each other, or one for rows that only so many threads hold.
const COVERING: (u32, u32) = (512, 2);
const ALONE: (u32, u32) = (1024, 1);
const VECTORS: u32 = 4;
/// Threads of each of several blocks an SM, whose blocks cover each other; and of one that has an SM and a row alone.
const SMALL: u32 = 256;
const MOST_SMALL: u32 = 512;
const MOST_BLOCKS: u32 = 8;
const BLOCKS_PER_SM: [u32; 6] = [8, 6, 4, 3, 2, 1];
/// Bytes of a row of one matrix. On an H200, against the portable family (`docs/results/rows-h200/bench-drawn.txt`): small blocks that draw rows
/// lead from `SHARED` on where threads wait for each other once a row, by 2 to 20 %, and at `ALONE_BYTES` of one matrix by 2 to
/// 6 %; where they wait twice, one block an SM does from `LONG` on by 9 %.
const SHARED: u32 = 128 << 10;
const ALONE_BYTES: u32 = 64 << 10;
const LONG: u32 = 256 << 10;

impl RingSchedule {
    /// The schedule that serves rows of about `columns` elements where nothing was tuned; none where no cluster holds them.
    pub fn for_columns(class: &Class, columns: u32, arch: Arch) -> Option<Self> {
        let row_bytes = row_bytes(class, columns);
        if waits(class) > 1 {
            return Self::of_whole_sms(class, columns, arch);
        }
        let vector = vector(class);
        let threads_per_row = match row_bytes {
            SHARED.. => SMALL,
            _ => (columns / MOST_COLUMNS).next_power_of_two().clamp(SMALL, MOST_SMALL),
        };
        let of = |vectors: u32, stages: u32, blocks_per_sm: u32| RingSchedule {
            threads_per_row,
            rows_per_block: 1,
            vector,
            cluster: columns.div_ceil(threads_per_row * vector * vectors).max(1).next_power_of_two(),
            vectors,
            stages,
            keep: Keep::Values,
            keeps_rows: class.read_rows().count() > 0,
            joins: class.may_join_exponentials(),
            blocks_per_sm,
            draws: true,
        };
        let held = MOST_COLUMNS / vector;
        let tried = [(held, 2), (held / 2, 2), (held, 1), (held / 2, 1)].into_iter();
        let mut tried = tried.flat_map(|(vectors, stages)| BLOCKS_PER_SM.map(|blocks| of(vectors, stages, blocks)));
        tried.find_map(|schedule| schedule.that_fits(class, arch))
    }

    /// One block an SM, that takes equal shares.
    fn of_whole_sms(class: &Class, columns: u32, arch: Arch) -> Option<Self> {
        let vector = vector(class);
        let of = |(threads_per_row, rows_per_block): (u32, u32), vectors: u32| {
            let part = threads_per_row * vector * vectors;
            let plain = RingSchedule {
                threads_per_row,
                rows_per_block,
                vector,
                cluster: columns.div_ceil(part).max(1).next_power_of_two(),
                vectors,
                stages: 1,
                keep: Keep::Values,
                keeps_rows: class.read_rows().count() > 0,
                joins: rows_per_block == 1 && class.may_join_exponentials(),
                blocks_per_sm: 1,
                draws: false,
            };
            plain.that_fits(class, arch)
        };
        let [covering, alone] = [COVERING, ALONE].map(|threads| of(threads, VECTORS));
        let found = match (covering, alone) {
            // What a cluster would share that one block holds.
            (Some(covering), Some(alone)) if covering.cluster > 1 && alone.cluster == 1 => Some(alone),
            (covering, alone) => covering.or(alone),
        };
        found.or_else(|| of(COVERING, VECTORS / 2))
    }

    /// This one, with less on chip where all of it does not fit; none where no such schedule keeps the rules.
    fn that_fits(self, class: &Class, arch: Arch) -> Option<Self> {
        let keeps = [
            (self.keeps_rows, Keep::Values),
            (false, Keep::Values),
            (self.keeps_rows, Keep::Inputs),
            (false, Keep::Inputs),
        ];
        // Several blocks that each read Rows again would leave no cache for them.
        let keeps = keeps.into_iter().filter(|(keeps_rows, _)| !self.draws || *keeps_rows == self.keeps_rows);
        let with = |(keeps_rows, keep)| RingSchedule { keeps_rows, keep, ..self };
        keeps.map(with).find(|schedule| schedule.cluster <= MOST_BLOCKS && schedule.check(class, arch).is_ok())
    }
}

/// Accesses of 16 bytes.
fn vector(class: &Class) -> u32 {
    let widest = class.matrices().map(|dtype| dtype.bytes()).max().unwrap_or(4);
    let narrowest = class.matrices().map(|dtype| dtype.bytes()).min().unwrap_or(4);
    if (narrowest, widest) == (4, 4) { 4 } else { 8 }
}

/// How often the threads of a row wait for each other, at least.
fn waits(class: &Class) -> usize {
    let reducing = class.passes.iter().filter(|pass| !pass.is_empty()).count();
    reducing - usize::from(class.may_join_exponentials())
}

/// Bytes of a row of the widest matrix that is read.
fn row_bytes(class: &Class, columns: u32) -> u32 {
    columns.saturating_mul(class.read_matrices().map(|dtype| dtype.bytes()).max().unwrap_or(0))
}

/// The schedules for rows of widths at which they lead, each once. A body of one pass leaves rows as they come.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<RingSchedule> {
    let mut schedules = Vec::new();
    for columns in WIDTHS.into_iter().filter(|&columns| leads(class, columns)) {
        schedules.extend(RingSchedule::for_columns(class, columns, arch).filter(|it| !schedules.contains(it)));
    }
    schedules
}

/// Whether the family leads at rows of so many columns where there are many of them.
pub(super) fn leads(class: &Class, columns: u32) -> bool {
    let bytes = row_bytes(class, columns);
    let is_alone = class.read_matrices().count() == 1;
    let leads = match waits(class) {
        0 => false,
        1 => bytes >= SHARED || is_alone && (ALONE_BYTES..SHARED).contains(&bytes),
        _ => bytes >= LONG,
    };
    class.passes.len() > 1 && leads
}
