//! What a strategy knows before the first trial.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use autokernel_codegen::schedule::Schedule;

use crate::constraints::Constraints;
use crate::evaluate::Measurable;
use crate::gpu_facts::GpuFacts;
use crate::group_sizes::GroupSizes;
use crate::known::Known;
use crate::target::Target;
use crate::trial::Trial;

/// What a strategy knows before the first trial.
#[derive(Clone, Debug)]
pub struct Brief {
    /// What is tuned.
    pub target: Target,
    /// On which GPU.
    pub gpu: GpuFacts,
    /// How large the groups are on which schedules are timed, where the target has such.
    pub group_sizes: GroupSizes,
    /// The schedules to choose from.
    pub space: Arc<[Schedule]>,
    /// Whether others can be tried too.
    pub measurable: Measurable,
    /// What a person lets it try; the space keeps to it.
    pub constraints: Constraints,
    /// Schedules with a record, most promising first; all of them in the space.
    pub known: Vec<Known>,
    /// What was measured before this search, oldest first: other searches' trials of the target, and those of its
    /// neighbours, which are the same problem class at other shapes.
    pub history: Vec<Trial>,
    /// Schedules that may be tried in all.
    pub evaluations: usize,
    /// Generations these are divided into.
    pub generations: usize,
    /// Decides every random choice.
    pub seed: u64,
}

/// Generations that a search is taken to have: however many follow, it begins alike.
const USUAL_GENERATIONS: usize = 5;

impl Brief {
    /// Schedules that so many generations of its size have.
    pub fn usual_budget(&self) -> usize {
        USUAL_GENERATIONS * self.evaluations.div_ceil(self.generations.max(1))
    }

    /// Whether `schedule` can be tried although it is not in the space: it keeps the rules, and its family is one of the
    /// space's.
    pub fn admits(&self, schedule: &Schedule) -> bool {
        self.measurable == Measurable::Legal
            && self.constraints.admit(schedule)
            && self.space.iter().any(|other| other.family() == schedule.family())
            && self.target.problem.class().check(schedule, self.target.arch).is_ok()
    }

    /// The brief with those of `others` that it admits at the end of its space, in a fixed order.
    pub fn widened(self, others: impl IntoIterator<Item = Schedule>) -> Self {
        let known: HashSet<&Schedule> = self.space.iter().collect();
        let new = others.into_iter().filter(|schedule| !known.contains(schedule) && self.admits(schedule));
        let new: BTreeSet<Schedule> = new.collect();
        if new.is_empty() {
            return self;
        }
        let space = self.space.iter().copied().chain(new).collect();
        Brief { space, ..self }
    }
}
