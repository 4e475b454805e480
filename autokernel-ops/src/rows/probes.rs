//! A few rows that show what a schedule does.

use autokernel_core::Extents;

use super::plan::extents;
use super::problem::Class;
use super::schedule::Schedule;

/// Rows that are no longer than this are held as a whole where a schedule holds so much; a longer one would take an emulator
/// too long.
const LONGEST: u32 = 1 << 14;

/// Rows that are short enough for many of them.
const SHORT: u32 = 1 << 10;
/// Multiprocessors of a GPU that is emulated, each of which has a block that stays.
const EMULATED_SMS: u32 = 4;

/// The rows for `schedule`: some that are longer than what its threads hold and begin anywhere, several a block; and some that
/// are shorter than a vector.
pub(super) fn of(schedule: &Schedule, class: &Class) -> Vec<Extents> {
    let rows = schedule.shape(class).rows;
    let held = schedule.held_columns().min(LONGEST);
    let ragged = [extents(4 * rows + 1, held + 2 * schedule.vector() + 3), extents(rows + 1, schedule.vector() - 1)];
    match schedule {
        Schedule::Sm80(_) => ragged.to_vec(),
        // What the ring brings first: rows that end inside of a part, and so many that each place is used again.
        Schedule::Sm90(ring) => {
            let teams = (EMULATED_SMS / ring.cluster).max(1) * rows;
            let brought =
                [(rows + 1, held - ring.vector), (teams * (ring.stages + 1) + 1, held.min(SHORT) - ring.vector)];
            brought.map(|(rows, columns)| extents(rows, columns)).into_iter().chain(ragged).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::Arch;

    use super::*;
    use crate::rows::{Problem, Sm80Schedule, Sm90Schedule, cases};

    #[test]
    fn rings_are_gone_round_by_short_rows_and_filled_by_long_ones() {
        let class = Problem::new(cases::softmax()).unwrap().class();
        let ring = Sm90Schedule::for_columns(&class, 16_384, Arch::SM_90A).unwrap();
        let [long, many, ..] = of(&ring.into(), &class)[..] else { panic!("four probes") };
        assert!(long.size(1) < ring.held_columns() && long.size(1) > ring.held_columns() / 2);
        assert!(
            many.size(0) > EMULATED_SMS * ring.rows_per_block * ring.stages && many.size(1).is_multiple_of(ring.vector)
        );
    }

    #[test]
    fn a_row_is_longer_than_what_is_held_with_single_elements_behind_it_and_another_shorter_than_a_vector() {
        let class = Problem::new(cases::softmax()).unwrap().class();
        let schedule = Sm80Schedule::for_columns(&class, 512, Arch::SM_80);
        let [long, short] = of(&schedule.into(), &class)[..] else { panic!("two probes") };
        assert!(long.size(1) > schedule.held_columns() && !long.size(1).is_multiple_of(schedule.vector));
        assert!(long.size(0) > 2 * schedule.rows_per_block && short.size(1) < schedule.vector);
    }
}
