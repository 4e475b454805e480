//! Which schedules of Hopper's family a kernel carries where nothing was tuned.

use autokernel_core::Arch;

use super::schedule::RingSchedule;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;

/// The width, in columns, for which long rows have a schedule.
const WIDTH: u32 = 65_536;
/// Threads and teams of a block: two that cover each other, or one for rows that only so many threads hold.
const COVERING: (u32, u32) = (512, 2);
const ALONE: (u32, u32) = (1024, 1);
const VECTORS: u32 = 4;
const MOST_BLOCKS: u32 = 8;
/// Bytes of a row from which on the portable family falls behind: on an H200 it has 0.80 to 0.91 of a copy at 65 536 columns of f32 and
/// this one 0.90 to 0.93, and of shorter rows it leads (`docs/results/rows-h200/rings.txt`).
const LONG: u32 = 256 << 10;

impl RingSchedule {
    /// The schedule that serves rows of about `columns` elements where nothing was tuned; none where no cluster holds them.
    pub fn for_columns(class: &Class, columns: u32, arch: Arch) -> Option<Self> {
        let widest = class.matrices().map(|dtype| dtype.bytes()).max().unwrap_or(4);
        let narrowest = class.matrices().map(|dtype| dtype.bytes()).min().unwrap_or(4);
        let vector = if (narrowest, widest) == (4, 4) { 4 } else { 8 };
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
                joins: false,
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
        let joining = self.rows_per_block == 1 && class.may_join_exponentials();
        let keeps = [
            (self.keeps_rows, Keep::Values),
            (false, Keep::Values),
            (self.keeps_rows, Keep::Inputs),
            (false, Keep::Inputs),
        ];
        let with = |(keeps_rows, keep)| RingSchedule { keeps_rows, keep, joins: joining, ..self };
        keeps
            .into_iter()
            .map(with)
            .find(|schedule| schedule.cluster <= MOST_BLOCKS && schedule.check(class, arch).is_ok())
    }
}

/// The schedule for rows of 65 536 columns where they are so long that it wins.
pub fn portfolio(class: &Class, arch: Arch) -> Option<RingSchedule> {
    is_long(class, WIDTH).then(|| RingSchedule::for_columns(class, WIDTH, arch)).flatten()
}

/// Whether rows of so many columns are long enough. A body of one pass leaves them as they come.
pub(super) fn is_long(class: &Class, columns: u32) -> bool {
    let bytes = columns.saturating_mul(class.read_matrices().map(|dtype| dtype.bytes()).max().unwrap_or(0));
    class.passes.len() > 1 && bytes >= LONG
}
