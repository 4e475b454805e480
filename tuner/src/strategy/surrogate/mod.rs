//! A model of the time, asked where it expects much or knows little.

mod acquire;
mod features;
mod forest;
mod model;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use autokernel_codegen::schedule::Schedule;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use self::acquire::Candidate;
use self::model::{Known, Model};
use super::categories::Categories;
use super::lattice::Lattice;
use super::{Brief, Proposal, Strategy, image, prior, seeds};
use crate::replay::columns;
use crate::trial::Trial;

/// Share of the budget that is spent on seeds, before the model is asked.
const SEED_SHARE: f64 = 0.2;
/// Schedules that the model is asked about at most: half of them by the prior, half at random.
const MOST_CANDIDATES: usize = 8192;

/// Seeds, then what a model of all that was told finds promising.
///
/// What it proposes depends on the brief, on what was asked and told, and not on the order of that.
pub struct Surrogate {
    space: Arc<[Schedule]>,
    lattice: Lattice,
    categories: Categories,
    rows: Vec<Vec<f64>>,
    /// Logarithm of the predicted time, by index.
    prior: Vec<f64>,
    /// Indices by predicted time.
    ranked: Vec<usize>,
    seeds: Vec<usize>,
    proposed: HashSet<usize>,
    /// The logarithm of the time of what was told; none if it failed.
    told: BTreeMap<usize, Option<f64>>,
    seed: u64,
}

impl Surrogate {
    /// A search for `brief`.
    pub fn new(brief: &Brief) -> Self {
        let columns = columns::from_schedules(brief.space.iter());
        let lattice = Lattice::of(&columns, brief.space.clone());
        let prior = prior::logs(brief);
        let ranked = seeds::ranked(&prior, &mut Pcg64::seed_from_u64(brief.seed));
        let seeds = seeds::first(brief, &lattice, &ranked, SEED_SHARE);
        Surrogate {
            categories: Categories::of(&columns, &brief.space),
            rows: features::rows(&columns, &brief.space, brief, &prior),
            told: seeds::told_before(brief, &lattice, &seeds).collect(),
            space: brief.space.clone(),
            proposed: HashSet::new(),
            seed: brief.seed,
            lattice,
            prior,
            ranked,
            seeds,
        }
    }

    /// Counts `schedules` as proposed: another mind has them tried.
    pub fn leave_out(&mut self, schedules: impl Iterator<Item = Schedule>) {
        self.proposed.extend(schedules.filter_map(|schedule| self.lattice.find(&schedule)));
    }

    fn is_open(&self, index: usize) -> bool {
        !self.proposed.contains(&index) && !self.told.contains_key(&index)
    }

    /// Randomness that what was proposed and told so far decides, so that a resumed search goes on the same way.
    fn rng(&self) -> Pcg64 {
        let stage = (self.proposed.len() + self.told.len()) as u64;
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

    fn promising(&self, n: usize) -> Vec<usize> {
        let mut rng = self.rng();
        let told: Vec<(usize, Option<f64>)> = self.told.iter().map(|(&index, &log)| (index, log)).collect();
        let known = Known { rows: &self.rows, categories: &self.categories, prior: &self.prior, told: &told };
        let model = Model::fit(known, rng.random());
        let indices = self.candidates(&mut rng);
        let expectations = model.expect(&indices).into_iter().zip(&indices);
        let candidate = |(expectation, &index)| Candidate { index, image: image(&self.space[index]), expectation };
        acquire::batch(&expectations.map(candidate).collect::<Vec<_>>(), n, &mut rng)
    }
}

impl Strategy for Surrogate {
    fn name(&self) -> &'static str {
        "surrogate"
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
        chosen.into_iter().map(|index| Proposal::new(self.space[index], self.name())).collect()
    }

    fn tell(&mut self, trials: &[Trial]) {
        for trial in trials {
            if let Some(index) = self.lattice.find(&trial.schedule) {
                self.told.insert(index, trial.median_ms().map(f64::ln));
            }
        }
    }
}
