//! A model of the time, asked where it expects much or knows little.

mod acquire;
mod features;
mod model;

use std::collections::{BTreeMap, HashSet};

use autokernel_codegen::schedule::Schedule;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use self::acquire::Candidate;
use self::model::{Known, Model};
use super::ask_tell::{Proposal, Strategy};
use super::brief::Brief;
use super::ground::Ground;
use super::seeds::{self, Look};
use crate::proposer::Proposer;
use crate::strategy_name::{Builtin, StrategyName};
use crate::trial::Trial;

/// Share of the budget that is spent on seeds, before the model is asked.
const SEED_SHARE: f64 = 0.2;
/// Schedules that the model is asked about at most: half of them by the prior, half at random.
const MOST_CANDIDATES: usize = 8192;

/// Seeds, then what a model of all that was told finds promising.
///
/// What it proposes depends on the brief, on what was asked and told, and not on the order of that.
pub struct Surrogate {
    ground: Ground,
    /// The features of each schedule of the ground.
    rows: Vec<Vec<f64>>,
    /// The space's indices by predicted time.
    ranked: Vec<usize>,
    seeds: Vec<usize>,
    proposed: HashSet<usize>,
    /// The logarithm of the time of what was told of the space; none if it failed.
    told: BTreeMap<usize, Option<f64>>,
    seed: u64,
}

impl Surrogate {
    /// A search for `brief`.
    pub fn new(brief: &Brief) -> Self {
        let ground = Ground::new(brief);
        let ranked = seeds::ranked(&ground.prior, &mut Pcg64::seed_from_u64(brief.seed));
        let seeds = seeds::first(brief, &ground.lattice, &ranked, SEED_SHARE);
        Surrogate {
            rows: rows(&ground),
            told: seeds::told_before(brief, &ground.lattice, &seeds).collect(),
            proposed: HashSet::new(),
            seed: brief.seed,
            ground,
            ranked,
            seeds,
        }
    }

    /// Counts `schedules` as proposed: another mind has them tried.
    pub fn leave_out(&mut self, schedules: impl Iterator<Item = Schedule>) {
        self.proposed.extend(schedules.filter_map(|schedule| self.ground.find(&schedule)));
    }

    fn is_open(&self, index: usize) -> bool {
        !self.proposed.contains(&index) && !self.told.contains_key(&index)
    }

    /// Randomness that what was proposed and told so far decides, so that a resumed search goes on the same way.
    fn rng(&self) -> Pcg64 {
        let stage = (self.proposed.len() + self.told.len() + self.ground.outside().count()) as u64;
        Pcg64::seed_from_u64(self.seed ^ stage.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// What the model is asked about, most promising first by the prior.
    fn candidates(&self, rng: &mut Pcg64) -> Vec<usize> {
        let open: Vec<usize> = self.ranked.iter().copied().filter(|&index| self.is_open(index)).collect();
        if open.len() <= MOST_CANDIDATES {
            return open;
        }
        let (promising, others) = open.split_at(MOST_CANDIDATES / 2);
        promising.iter().chain(others.sample(rng, MOST_CANDIDATES / 2)).copied().collect()
    }

    fn promising(&mut self, n: usize) -> Vec<usize> {
        if self.ground.widen() {
            self.rows = rows(&self.ground);
        }
        let Ground { lattice, categories, prior, .. } = &self.ground;
        let mut rng = self.rng();
        let told = self.told.iter().map(|(&index, &log)| (index, log));
        let told: Vec<(usize, Option<f64>)> = told.chain(self.ground.outside()).collect();
        let known = Known { rows: &self.rows, categories, prior, told: &told };
        let model = Model::fit(known, rng.random());
        let indices = self.candidates(&mut rng);
        let expectations = model.expect(&indices).into_iter().zip(&indices);
        let tried: HashSet<Look> = told.iter().map(|&(index, _)| seeds::look(lattice, index)).collect();
        let candidate = |(expectation, &index)| {
            let (image, look) = (lattice.schedule(index).image(), seeds::look(lattice, index));
            Candidate { index, image, look_was_tried: tried.contains(&look), look, expectation }
        };
        acquire::batch(&expectations.map(candidate).collect::<Vec<_>>(), n, &mut rng)
    }
}

fn rows(ground: &Ground) -> Vec<Vec<f64>> {
    features::rows(&ground.columns, ground.lattice.schedules(), ground.brief(), &ground.prior)
}

impl Strategy for Surrogate {
    fn name(&self) -> StrategyName {
        StrategyName::Builtin(Builtin::Surrogate)
    }

    fn ask(&mut self, n: usize) -> Vec<Proposal> {
        let mut chosen: Vec<usize> = Vec::with_capacity(n);
        while chosen.len() < n {
            let Some(seed) = self.seeds.pop() else { break };
            if self.is_open(seed) {
                self.proposed.insert(seed);
                chosen.push(seed);
            }
        }
        if chosen.len() < n {
            chosen.extend(self.promising(n - chosen.len()));
        }
        self.proposed.extend(&chosen);
        chosen
            .into_iter()
            .map(|index| Proposal::new(*self.ground.lattice.schedule(index), Proposer::Builtin(Builtin::Surrogate)))
            .collect()
    }

    fn tell(&mut self, trials: &[Trial]) {
        for trial in trials {
            match self.ground.find(&trial.schedule) {
                Some(index) => {
                    self.told.insert(index, trial.cost().map(f64::ln));
                }
                None => self.ground.note(trial),
            }
        }
    }
}
