//! What a search on a GPU chooses from.

use autokernel_codegen::schedule::Schedule;

use crate::Target;

/// The schedules of the family that serves the arch of `target` best, or of those of which one does.
pub fn candidates(target: &Target) -> Vec<Schedule> {
    let class = target.problem.class();
    class.searched_families(target.arch).iter().flat_map(|&family| class.schedules(family, target.arch)).collect()
}
