//! What the journal knows of a target when a search begins, told to the strategy in the order in which it came to be known.

use std::collections::HashSet;

use autokernel_codegen::schedule::Schedule;

use crate::constraints::Constraints;
use crate::environment::Environment;
use crate::store::Records;
use crate::strategy::Proposal;
use crate::strategy_name::StrategyName;
use crate::target::Target;
use crate::trial::Trial;

/// Whose search a trial belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searcher {
    /// The strategy.
    pub strategy: StrategyName,
    /// What decides its random choices.
    pub seed: u64,
}

impl Searcher {
    /// Whether it made this trial, as far as its line tells: before seeds were written, the strategy alone does.
    pub fn made(self, trial: &Trial) -> bool {
        trial.proposed_by.strategy() == Some(self.strategy) && trial.seed.is_none_or(|seed| seed == self.seed)
    }
}

/// The trials of a target in the order of the journal, and how many of them the strategy was told of.
///
/// A strategy that repeats itself is asked again from the start, and the journal answers. What others tried meanwhile it is
/// told where it stands in the journal, so that it proposes the same again. Where it does not, since it is asked for more at a
/// time than it was, it is told all there is, and goes on from there.
#[derive(Debug)]
pub struct Memory {
    searcher: Searcher,
    trials: Vec<Trial>,
    told: usize,
}

impl Memory {
    /// That of `searcher`, whose brief holds what was tried before its own first trial.
    /// Schedules that `constraints` do not admit are none of its business.
    pub fn new(
        records: &Records,
        target: &Target,
        environment: &Environment,
        searcher: Searcher,
        constraints: &Constraints,
    ) -> Self {
        let admitted = |trial: &&Trial| constraints.admit(&trial.schedule);
        let mut memory = Memory {
            searcher,
            trials: records.trials_of(target, environment).filter(admitted).cloned().collect(),
            told: 0,
        };
        memory.told = memory.begin_of(1);
        memory
    }

    /// The trials of all searches.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The trials of this search.
    pub fn own(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| self.searcher.made(trial))
    }

    /// What others tried before the searcher did its own of `generation`, and it was not told of.
    pub fn before(&mut self, generation: u32) -> Vec<Trial> {
        let end = self.begin_of(generation);
        let others = self.trials[self.told..end].iter().filter(|trial| !self.searcher.made(trial)).cloned().collect();
        self.told = end;
        others
    }

    /// Whether these proposals are not those that the searcher made in `generation`.
    pub fn differ(&self, generation: u32, proposals: &[Proposal]) -> bool {
        // What it was told of ends where its own trials of this generation begin.
        let own = self.trials[self.told..].iter().filter(|trial| self.searcher.made(trial));
        let mut made = own.take_while(|trial| trial.generation <= generation).map(|trial| trial.schedule);
        made.any(|schedule| proposals.iter().all(|proposal| proposal.schedule != schedule))
    }

    /// What was not told, the searcher's own trials that `known` does not have among it.
    pub fn rest(&mut self, known: &[Trial]) -> Vec<Trial> {
        let known: HashSet<Schedule> = known.iter().map(|trial| trial.schedule).collect();
        let is_new = |trial: &&Trial| !known.contains(&trial.schedule);
        let told = std::mem::replace(&mut self.told, self.trials.len());
        let rest = self.trials.iter().enumerate().filter(|(at, trial)| *at >= told || self.searcher.made(trial));
        rest.map(|(_, trial)| trial).filter(is_new).cloned().collect()
    }

    /// Of these trials, the searcher's own.
    pub fn own_of(&self, trials: Vec<Trial>) -> impl Iterator<Item = Trial> {
        trials.into_iter().filter(|trial| self.searcher.made(trial))
    }

    /// The trials of schedules that `trials` do not have.
    pub fn beside(&self, trials: &[Trial]) -> Vec<Trial> {
        let here: HashSet<Schedule> = trials.iter().map(|trial| trial.schedule).collect();
        self.trials.iter().filter(|trial| !here.contains(&trial.schedule)).cloned().collect()
    }

    /// Where the searcher's own trials of `generation` and later ones begin.
    fn begin_of(&self, generation: u32) -> usize {
        let is_later = |trial: &Trial| self.searcher.made(trial) && trial.generation >= generation;
        let untold = self.trials[self.told..].iter().position(is_later);
        untold.map_or(self.trials.len(), |at| self.told + at)
    }
}
