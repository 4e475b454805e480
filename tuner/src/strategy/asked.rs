//! From what is asked of a search to what its strategy is told.

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;

use super::brief::Brief;
use super::seeds::{Neighbours, known, neighbours};
use crate::constraints::Constraints;
use crate::evaluate::About;
use crate::target::Target;
use crate::trial::Trial;

/// What is asked of a search, and what was there before it.
pub struct Asked<'a> {
    /// What its tuned entries seed.
    pub config: &'a Config,
    /// Which of them.
    pub which: Neighbours,
    /// What a person lets it try.
    pub constraints: Constraints,
    /// What was measured before, oldest first.
    pub history: Vec<Trial>,
    /// Schedules that may be tried in all.
    pub evaluations: usize,
    /// Generations these are divided into.
    pub generations: usize,
    /// Decides every random choice.
    pub seed: u64,
}

impl Asked<'_> {
    /// What a strategy is told of a search at `target` in `space`, which keeps to the constraints. What was measured or tuned outside
    /// of it joins it: a winner that a model found there is a seed like any other.
    pub fn brief(self, target: &Target, about: &About, space: Vec<Schedule>) -> Brief {
        let Asked { config, which, .. } = self;
        let tuned = neighbours(config, target, which).into_iter().map(|known| known.schedule);
        let measured: Vec<Schedule> = self.history.iter().map(|trial| trial.schedule).chain(tuned).collect();
        let brief = Brief {
            target: target.clone(),
            gpu: about.gpu.clone(),
            group_sizes: about.environment.group_sizes,
            space: space.into(),
            measurable: about.measurable,
            constraints: self.constraints,
            known: Vec::new(),
            history: self.history,
            evaluations: self.evaluations,
            generations: self.generations,
            seed: self.seed,
        };
        let brief = brief.widened(measured);
        Brief { known: known(config, target, &brief.space, which), ..brief }
    }
}
