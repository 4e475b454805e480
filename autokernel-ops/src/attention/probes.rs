//! A few heads that show what a schedule does.

use autokernel_core::Extents;

use super::plan::Sizes;
use super::problem::Class;
use super::schedule::Schedule;

/// Several tiles of queries against rings that go around, ragged at both ends, with heads that share keys; then fewer queries
/// than a tile against keys of which some blocks are skipped.
pub fn of(schedule: &Schedule, class: &Class) -> Vec<Extents> {
    let (queries, keys) = (schedule.tile_queries(), schedule.tile_keys());
    let long = Sizes { batch: 1, heads: 2, groups: 1, queries: queries + 7, keys: (schedule.stages() + 1) * keys + 5 };
    let short = Sizes { batch: 2, heads: 1, groups: 1, queries: 3, keys: keys + 1 };
    [long, short].map(|sizes| sizes.extents(class)).to_vec()
}
