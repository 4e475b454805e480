//! A few rows that show what a schedule does.

use autokernel_core::Extents;

use super::plan::{Shape, extents};
use super::problem::Class;
use super::schedule::RowsSchedule;

/// Rows that are no longer than this are held as a whole where a schedule holds so much; a longer one would take an emulator
/// too long.
const LONGEST: u32 = 1 << 14;

/// The rows for `schedule`: some that are longer than what its threads hold and begin anywhere, several a block; and some that
/// are shorter than a vector.
pub(super) fn of(schedule: &RowsSchedule, class: &Class) -> Vec<Extents> {
    let rows = Shape::of(schedule, class).rows;
    let held = schedule.held_columns().min(LONGEST);
    vec![extents(4 * rows + 1, held + 2 * schedule.vector + 3), extents(rows + 1, schedule.vector - 1)]
}

#[cfg(test)]
mod tests {
    use autokernel_core::Arch;

    use super::*;
    use crate::rows::{Problem, cases};

    #[test]
    fn a_row_is_longer_than_what_is_held_with_single_elements_behind_it_and_another_shorter_than_a_vector() {
        let class = Problem::new(cases::softmax()).unwrap().class();
        let schedule = RowsSchedule::for_columns(&class, 512, Arch::SM_80);
        let [long, short] = of(&schedule, &class)[..] else { panic!("two probes") };
        assert!(long.size(1) > schedule.held_columns() && !long.size(1).is_multiple_of(schedule.vector));
        assert!(long.size(0) > 2 * schedule.rows_per_block && short.size(1) < schedule.vector);
    }
}
