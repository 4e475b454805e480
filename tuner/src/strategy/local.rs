//! The built-in search: steps from the best, in the order of their promise, with restarts.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::ask_tell::{Proposal, Strategy};
use super::brief::Brief;
use super::effects::Effects;
use super::ground::Ground;
use super::{moves, seeds};
use crate::proposer::Proposer;
use crate::strategy_name::{Builtin, StrategyName};
use crate::trial::Trial;

/// Share of the budget that is spent on seeds, before the first step.
const SEED_SHARE: f64 = 0.25;
/// Schedules that steps start from: the fastest of as many looks.
const BASES: usize = 4;
/// Share of later proposals that restart elsewhere, to leave a local optimum.
const RESTART_SHARE: f64 = 0.1;
/// How much faster than expected a schedule of unknown knob values is taken to be, at most a knob.
const CURIOSITY: f64 = 0.03;

/// Seeds, then steps from the fastest schedules.
///
/// Steps are ranked by what the [prior](super::prior) and the knob effects seen so far expect of them, so that those
/// likely to matter come first; a schedule is proposed once.
pub struct Local {
    ground: Ground,
    /// The space's indices by predicted time.
    ranked: Vec<usize>,
    seeds: Vec<usize>,
    /// What was proposed or told, with the logarithm of its time once that is known.
    tried: HashMap<usize, Option<f64>>,
    rng: Pcg64,
}

impl Local {
    /// A search for `brief`.
    pub fn new(brief: &Brief) -> Self {
        let ground = Ground::new(brief);
        let mut rng = Pcg64::seed_from_u64(brief.seed);
        let ranked = seeds::ranked(&ground.prior, &mut rng);
        let seeds = seeds::first(brief, &ground.lattice, &ranked, SEED_SHARE);
        let tried = seeds::told_before(brief, &ground.lattice, &seeds).collect();
        Local { ground, ranked, seeds, tried, rng }
    }

    fn timed(&self) -> Vec<(usize, f64)> {
        let told = self.tried.iter().map(|(&index, &log)| (index, log)).chain(self.ground.outside());
        let mut timed: Vec<(usize, f64)> = told.filter_map(|(index, log)| Some((index, log?))).collect();
        timed.sort_by(|(a, x), (b, y)| x.total_cmp(y).then(a.cmp(b)));
        timed
    }

    /// The fastest of `timed`, one of each look: else all of them would be variants of the best.
    fn bases(&self, timed: &[(usize, f64)]) -> Vec<(usize, f64)> {
        let mut looks = HashSet::new();
        let first_of_look =
            timed.iter().copied().filter(|&(index, _)| looks.insert(seeds::look(&self.ground.lattice, index)));
        first_of_look.take(BASES).collect()
    }

    /// Untried neighbours of the fastest schedules, most promising first.
    fn steps(&self) -> Vec<usize> {
        let Ground { lattice, categories, prior, .. } = &self.ground;
        let timed = self.timed();
        let surprises: Vec<(usize, f64)> = timed.iter().map(|&(index, log)| (index, log - prior[index])).collect();
        let effects = Effects::fit(categories, &surprises);
        let expected = |index: usize| prior[index] + effects.of(categories, index);
        let mut promise: HashMap<usize, f64> = HashMap::new();
        for (base, log) in self.bases(&timed) {
            for step in moves::neighbours(lattice, base) {
                if self.tried.contains_key(&step) || !self.ground.holds(step) {
                    continue;
                }
                let curiosity = CURIOSITY * effects.novelty(categories, step);
                let expectation = log + expected(step) - expected(base) - curiosity;
                let entry = promise.entry(step).or_insert(expectation);
                *entry = entry.min(expectation);
            }
        }
        let mut steps: Vec<usize> = promise.keys().copied().collect();
        steps.sort_by(|a, b| promise[a].total_cmp(&promise[b]).then(a.cmp(b)));
        steps
    }

    /// A schedule away from all steps: often one that the prior likes, sometimes any.
    fn restart(&mut self) -> Option<usize> {
        let untried: Vec<usize> = self.ranked.iter().copied().filter(|index| !self.tried.contains_key(index)).collect();
        let promising = &untried[..untried.len().div_ceil(20)];
        let from = if self.rng.random_bool(0.75) { promising } else { &untried };
        from.choose(&mut self.rng).copied()
    }
}

impl Strategy for Local {
    fn name(&self) -> StrategyName {
        StrategyName::Builtin(Builtin::Local)
    }

    fn ask(&mut self, n: usize) -> Vec<Proposal> {
        let mut proposals: Vec<usize> = Vec::with_capacity(n);
        while proposals.len() < n {
            let Some(seed) = self.seeds.pop() else { break };
            if self.tried.insert(seed, None).is_none() {
                proposals.push(seed);
            }
        }
        self.ground.widen();
        let mut steps = self.steps().into_iter();
        while proposals.len() < n {
            let elsewhere = self.rng.random_bool(RESTART_SHARE);
            let next = if elsewhere { self.restart() } else { steps.next().or_else(|| self.restart()) };
            let Some(next) = next else { break };
            if let Entry::Vacant(entry) = self.tried.entry(next) {
                entry.insert(None);
                proposals.push(next);
            }
        }
        proposals
            .into_iter()
            .map(|index| Proposal::new(*self.ground.lattice.schedule(index), Proposer::Builtin(Builtin::Local)))
            .collect()
    }

    fn tell(&mut self, trials: &[Trial]) {
        for trial in trials {
            match self.ground.find(&trial.schedule) {
                Some(index) => {
                    self.tried.insert(index, trial.cost().map(f64::ln));
                }
                None => self.ground.note(trial),
            }
        }
    }
}
