//! Which schedules of Hopper's family a kernel carries where nothing was tuned.

use autokernel_core::Arch;

use super::schedule::RingSchedule;
use crate::rows::passes::Keep;
use crate::rows::problem::Class;

/// Widths, in columns, of which rows may be long enough.
const WIDTHS: [u32; 3] = [8192, 16_384, 65_536];
/// Threads and teams of a block: two that cover each other, or one for rows that only so many threads hold.
const COVERING: (u32, u32) = (512, 2);
const ALONE: (u32, u32) = (1024, 1);
const VECTORS: u32 = 4;
const MOST_BLOCKS: u32 = 8;
/// Bytes of a row of a matrix from which on the portable family falls behind a copy: of any body, of one that reads a single
/// matrix, and of one that also waits for two reductions.
const LONG: u32 = 128 << 10;
const LONG_ALONE: u32 = 64 << 10;
const LONG_TWICE: u32 = 32 << 10;

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

    /// This one with as many stages as fit, with less on chip where even one does not; none where no such schedule keeps the rules.
    fn that_fits(self, class: &Class, arch: Arch) -> Option<Self> {
        let joining = self.rows_per_block == 1 && class.may_join_exponentials();
        let keeps = [
            (self.keeps_rows, Keep::Values),
            (false, Keep::Values),
            (self.keeps_rows, Keep::Inputs),
            (false, Keep::Inputs),
        ];
        let with = |(keeps_rows, keep)| RingSchedule { keeps_rows, keep, joins: joining, ..self };
        let staged = keeps.into_iter().map(with).flat_map(|it| [3, 2, 1].map(|stages| RingSchedule { stages, ..it }));
        { staged }.find(|schedule| schedule.cluster <= MOST_BLOCKS && schedule.check(class, arch).is_ok())
    }
}

/// The schedules for [`WIDTHS`] where rows are so long that they should win, each once.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<RingSchedule> {
    let mut schedules: Vec<RingSchedule> = Vec::new();
    let long = WIDTHS.into_iter().filter(|columns| is_long(class, *columns));
    for schedule in long.filter_map(|columns| RingSchedule::for_columns(class, columns, arch)) {
        if !schedules.contains(&schedule) {
            schedules.push(schedule);
        }
    }
    schedules
}

/// Whether rows of so many columns are long enough: on an H200 the portable family has 0.95 of a copy and more below.
pub(super) fn is_long(class: &Class, columns: u32) -> bool {
    let bytes = columns.saturating_mul(class.read_matrices().map(|dtype| dtype.bytes()).max().unwrap_or(0));
    let is_alone = class.read_matrices().count() == 1;
    let (waits, waits_twice) = (class.passes.len() > 1, class.passes.len() > 2);
    waits && (bytes >= LONG || is_alone && bytes >= LONG_ALONE || is_alone && waits_twice && bytes >= LONG_TWICE)
}
