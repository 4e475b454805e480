//! How large the groups are on which grouped products are checked and timed: the device alone knows it, so that no extents say it.

use std::fmt;

use clap::ValueEnum;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

/// One of so many groups is empty by Zipf's law, as the model of a launch has it.
const EMPTY: usize = 8;

/// How large groups are: parts of rows or of K, or of slots as many rows as count.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum GroupSizes {
    /// The largest twice the second, three times the third and so on, in any order, and one in eight empty: loads of experts.
    #[default]
    Zipf,
    /// Any size is as likely as any other.
    Uniform,
    /// All alike.
    Even,
}

impl GroupSizes {
    /// Whether it is what measurements that do not say it were made with.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub const fn is_zipf(&self) -> bool {
        matches!(self, GroupSizes::Zipf)
    }

    /// What a command is told to draw such groups; nothing where it does by itself.
    pub fn option(self) -> String {
        let name = self.to_possible_value().filter(|_| !self.is_zipf());
        name.map_or_else(String::new, |name| format!(" --group-sizes {}", name.get_name()))
    }

    /// Where `groups` groups of `rows` rows begin, and behind them where the last one ends: in order, from 0 to `rows`.
    pub fn bounds(self, groups: usize, rows: usize, seed: u64) -> Vec<i32> {
        let mut rng = Pcg64::seed_from_u64(seed);
        let rows = rows.min(i32::MAX as usize);
        let bounds: Vec<usize> = match self {
            GroupSizes::Even => {
                (0..=groups).map(|at| (rows as u128 * at as u128 / groups.max(1) as u128) as usize).collect()
            }
            GroupSizes::Uniform => {
                let mut cuts: Vec<usize> = (1..groups).map(|_| rng.random_range(0..=rows)).collect();
                cuts.sort_unstable();
                let end = (groups > 0).then_some(rows);
                std::iter::once(0).chain(cuts).chain(end).collect()
            }
            GroupSizes::Zipf => {
                let mut sizes = zipf(groups, rows);
                sizes.shuffle(&mut rng);
                let mut end = 0;
                let ends = sizes.into_iter().map(|size| {
                    end += size;
                    end
                });
                std::iter::once(0).chain(ends).collect()
            }
        };
        bounds.into_iter().map(|bound| bound as i32).collect()
    }

    /// How many of the `rows` rows of each of `slots` slots count.
    pub fn counts(self, slots: usize, rows: usize, seed: u64) -> Vec<i32> {
        let mut rng = Pcg64::seed_from_u64(seed);
        let rows = rows.min(i32::MAX as usize);
        let mut counts: Vec<usize> = match self {
            GroupSizes::Even => vec![rows; slots],
            GroupSizes::Uniform => (0..slots).map(|_| rng.random_range(0..=rows)).collect(),
            GroupSizes::Zipf => {
                let filled = slots - empty(slots);
                (1..=slots).map(|rank| if rank <= filled { rows.div_ceil(rank) } else { 0 }).collect()
            }
        };
        counts.shuffle(&mut rng);
        counts.into_iter().map(|count| count as i32).collect()
    }
}

/// Groups without a row: also of a few one, so that each check has such.
fn empty(groups: usize) -> usize {
    (groups / EMPTY).max(usize::from(groups > 2))
}

/// Sizes that are `rows` in all, the largest first.
fn zipf(groups: usize, rows: usize) -> Vec<usize> {
    let mut sizes = vec![0; groups];
    let filled = (groups - empty(groups)).min(rows);
    let shares: f64 = (1..=filled).map(|rank| (rank as f64).recip()).sum();
    let mut left = rows;
    for (at, size) in sizes[..filled].iter_mut().enumerate() {
        *size = ((rows as f64 / ((at + 1) as f64 * shares)) as usize).min(left);
        left -= *size;
    }
    // What was cut off: fewer rows than groups.
    if let Some(largest) = sizes.first_mut() {
        *largest += left;
    }
    sizes
}

impl fmt::Display for GroupSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GroupSizes::Zipf => "sizes by Zipf's law, one in eight empty",
            GroupSizes::Uniform => "any sizes alike",
            GroupSizes::Even => "even sizes",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [GroupSizes; 3] = [GroupSizes::Zipf, GroupSizes::Uniform, GroupSizes::Even];

    #[test]
    fn groups_lie_in_order_from_the_first_row_to_the_last_whatever_their_number() {
        for sizes in ALL {
            for (groups, rows) in [(1, 0), (1, 9), (2, 1), (3, 200), (5, 3), (64, 8192), (7, i32::MAX as usize)] {
                let bounds = sizes.bounds(groups, rows, 7);
                assert_eq!(bounds.len(), groups + 1, "{sizes}");
                assert!(bounds.is_sorted() && bounds[0] == 0, "{sizes}: {bounds:?}");
                assert_eq!(bounds[groups], rows as i32, "{sizes}, {groups} groups");
                let counts = sizes.counts(groups, rows, 7);
                assert!(counts.len() == groups && counts.iter().all(|&count| (0..=rows as i32).contains(&count)));
            }
            assert_eq!(sizes.bounds(0, 5, 7), [0], "{sizes}");
            assert_eq!(sizes.counts(0, 5, 7), [0; 0], "{sizes}");
        }
    }

    #[test]
    fn loads_by_zipfs_law_are_uneven_with_empty_groups_and_another_seed_gives_them_in_another_order() {
        let sizes = |seed| -> Vec<i32> {
            GroupSizes::Zipf.bounds(64, 8192, seed).windows(2).map(|pair| pair[1] - pair[0]).collect()
        };
        let (drawn, others) = (sizes(1), sizes(2));
        assert_eq!(drawn.iter().filter(|&&size| size == 0).count(), 8);
        let (most, mut sorted) = (drawn.iter().max().copied().unwrap(), drawn.clone());
        sorted.sort_unstable();
        assert!(most > 8192 / 10 && sorted[32] < 8192 / 64, "{sorted:?}");
        assert_ne!(drawn, others);
        assert_eq!(drawn, sizes(1), "the same seed draws the same");
        assert_eq!(GroupSizes::Zipf.bounds(3, 90, 1).windows(2).filter(|pair| pair[0] == pair[1]).count(), 1);
    }

    #[test]
    fn sizes_that_are_not_drawn_by_default_are_asked_for_by_name() {
        assert_eq!(ALL.map(GroupSizes::option), ["", " --group-sizes uniform", " --group-sizes even"]);
    }

    #[test]
    fn even_groups_differ_by_no_more_than_a_row() {
        let bounds = GroupSizes::Even.bounds(7, 100, 0);
        assert!(bounds.windows(2).all(|pair| (14..=15).contains(&(pair[1] - pair[0]))), "{bounds:?}");
    }
}
