//! What a search found.

use super::reason::StopReason;
use crate::target::Target;
use crate::trial::{self, Trial};

/// What a search found.
#[derive(Clone, Debug)]
pub struct Search {
    /// What was tuned.
    pub target: Target,
    /// Every trial, in the order of the proposals. Generations and numbers are this search's own.
    pub trials: Vec<Trial>,
    /// What the journal knows of the target beside them, by other searches.
    pub elsewhere: Vec<Trial>,
    /// What the journal knows to be the fastest of the schedules that --fix and --exclude leave out.
    pub left_out: Option<Trial>,
    /// How many of them were made now; the journal answered the others.
    pub evaluated: usize,
    /// Why it ended.
    pub stopped: StopReason,
}

impl Search {
    /// Every trial that is known of the target, this search's first.
    pub fn all(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().chain(&self.elsewhere)
    }

    /// The fastest trial that is known, whoever made it.
    pub fn best(&self) -> Option<&Trial> {
        trial::fastest(self.all())
    }

    /// The fastest trial up to each generation: (generation, trial).
    pub fn best_by_generation(&self) -> Vec<(u32, &Trial)> {
        let last = self.trials.last().map_or(0, |trial| trial.generation);
        let best = |g| trial::fastest(self.trials.iter().filter(|trial| trial.generation <= g));
        (1..=last).filter_map(|g| Some((g, best(g)?))).collect()
    }
}
