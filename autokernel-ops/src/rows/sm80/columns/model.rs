//! How long a reduction along columns takes, about: enough to choose a strip's width.

use autokernel_core::Extents;

use crate::operation::Class as _;
use crate::rows::problem::Class;
use crate::rows::sm80::schedule::Sm80Schedule;

/// What blocks that share a strip take beside its bytes, in microseconds: they leave their parts and learn who is last.
const LEAVING_US: f64 = 2.0;
/// Loads of parts that a thread has under way, and how long they take, in microseconds.
const PARTS_AT_ONCE: f64 = 8.0;
const PARTS_US: f64 = 0.7;
/// Bytes of a strip's rows from which on the memory is as fast as it can be, and what it loses where they are half as long.
const WIDE_BYTES: f64 = 512.0;
const NARROW: f64 = 0.03;

/// Microseconds beside those of a launch, on a GPU that holds so many blocks at once.
pub fn predicted_us(class: &Class, schedule: &Sm80Schedule, extents: &Extents, blocks: u32, bytes_per_us: f64) -> f64 {
    let (rows, columns) = (f64::from(extents.size(0)), f64::from(extents.size(1)));
    let strip = f64::from(schedule.threads_per_row * schedule.vector);
    let strips = (columns / strip).ceil().max(1.0);
    let units = (rows / f64::from(schedule.rows_per_block * schedule.vectors)).ceil().max(1.0);
    let parts = (f64::from(blocks) / strips).min(units);
    let leaving = if parts > 1.0 {
        let readers = (f64::from(schedule.threads()) / strip).max(1.0);
        LEAVING_US + (parts / readers / PARTS_AT_ONCE).ceil() * PARTS_US
    } else {
        0.0
    };
    let element = f64::from(class.read_matrices().map(|dtype| dtype.bytes()).max().unwrap_or(4));
    let narrow = (WIDE_BYTES / (strip * element)).log2().max(0.0) * NARROW;
    // Lanes behind the last column ask for nothing.
    let idle = strips * strip / columns.max(1.0);
    class.work(extents).bytes() / bytes_per_us * (1.0 + narrow) * idle.sqrt() + leaving
}

#[cfg(test)]
mod tests {
    use autokernel_core::Arch;

    use super::*;
    use crate::rows::plan::extents;
    use crate::rows::sm80::model::portfolio;
    use crate::rows::sm80::rules::resident_blocks;
    use crate::rows::{Problem, cases};

    #[test]
    fn short_rows_have_narrow_strips_and_long_ones_wide_ones() {
        let class = Problem::new(cases::gradients()).unwrap().class();
        let carried = portfolio(&class, Arch::SM_90A);
        let threads_along = |columns: u32| {
            let extents = extents((1 << 26) / columns, columns);
            // An H200's.
            let blocks = |schedule: &Sm80Schedule| 132 * resident_blocks(schedule, &class);
            let us = |schedule: &Sm80Schedule| predicted_us(&class, schedule, &extents, blocks(schedule), 4.656e6);
            let chosen = carried.iter().min_by(|left, right| us(left).total_cmp(&us(right))).unwrap();
            chosen.threads_per_row
        };
        assert_eq!(threads_along(256), Sm80Schedule::for_columns(&class, 256, Arch::SM_90A).threads_per_row);
        assert!(threads_along(65_536) > threads_along(256));
    }
}
