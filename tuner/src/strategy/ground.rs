//! The schedules that a search knows, by index, and what arithmetic says of them.

use std::collections::BTreeMap;

use autokernel_codegen::schedule::Schedule;

use super::brief::Brief;
use super::categories::Categories;
use super::lattice::Lattice;
use super::prior;
use crate::knobs::{self, Column};
use crate::trial::Trial;

/// The space of a brief; behind it, what was told of schedules outside it.
///
/// Somebody else may have had those tried: a language model knows combinations that the space leaves out. They are
/// learned from and stepped from, and never proposed.
pub struct Ground {
    brief: Brief,
    /// The knobs of each schedule, by index.
    pub columns: Vec<Column>,
    /// Their places.
    pub lattice: Lattice,
    /// The values of their knobs.
    pub categories: Categories,
    /// The logarithms of their predicted times.
    pub prior: Vec<f64>,
    /// What was told of schedules outside the space: the logarithm of their time, or none if they failed.
    outside: BTreeMap<Schedule, Option<f64>>,
}

impl Ground {
    /// The space of `brief`.
    pub fn new(brief: &Brief) -> Self {
        let columns = knobs::columns(&brief.space);
        Ground {
            lattice: Lattice::new(brief.space.clone()),
            categories: Categories::of(&columns, &brief.space),
            prior: prior::logs(brief),
            brief: brief.clone(),
            outside: BTreeMap::new(),
            columns,
        }
    }

    /// The brief whose space this is.
    pub fn brief(&self) -> &Brief {
        &self.brief
    }

    /// The index of `schedule`, if it is in the space.
    pub fn find(&self, schedule: &Schedule) -> Option<usize> {
        self.lattice.find(schedule).filter(|&index| self.holds(index))
    }

    /// Whether the schedule at `index` is in the space.
    pub fn holds(&self, index: usize) -> bool {
        index < self.brief.space.len()
    }

    /// Takes note of a trial whose schedule is not in the space.
    pub fn note(&mut self, trial: &Trial) {
        if self.brief.admits(&trial.schedule) {
            self.outside.insert(trial.schedule, trial.cost().map(f64::ln));
        }
    }

    /// Gives each schedule that was noted an index, and says whether one had none. Those of the space keep theirs.
    pub fn widen(&mut self) -> bool {
        if self.outside.keys().all(|schedule| self.lattice.find(schedule).is_some()) {
            return false;
        }
        let all = Ground::new(&self.brief.clone().widened(self.outside.keys().copied()));
        let Ground { columns, lattice, categories, prior, .. } = all;
        (self.columns, self.lattice, self.categories, self.prior) = (columns, lattice, categories, prior);
        true
    }

    /// What was told of schedules outside the space, as of the last [`Ground::widen`]: in the order of the indices,
    /// whatever order it was told in.
    pub fn outside(&self) -> impl Iterator<Item = (usize, Option<f64>)> {
        self.outside.iter().filter_map(|(schedule, &log)| Some((self.lattice.find(schedule)?, log)))
    }
}
