//! What the logarithm of a schedule's time may be, by all that was told.

use tuner_forest::{Expectation, Forest};

use crate::strategy::categories::Categories;
use crate::strategy::effects::Effects;

/// Trees of a forest; more change no proposal that matters.
const TREES: usize = 30;
/// A failed schedule counts as slower than the slowest by this factor, as a logarithm.
const FAILURE: f64 = 0.7;

/// What is known of the space.
pub struct Known<'k> {
    /// The features of each schedule.
    pub rows: &'k [Vec<f64>],
    /// The values of its knobs.
    pub categories: &'k Categories,
    /// The logarithm of its predicted time.
    pub prior: &'k [f64],
    /// What was told: schedules, and the logarithm of their time, or none if they failed.
    pub told: &'k [(usize, Option<f64>)],
}

/// Three layers, each for what the one below leaves over: the prior, additive effects of the knobs, and a forest.
///
/// Effects reach further than trees, which a few tens of trials cannot teach much; trees see what knobs do together,
/// where schedules fail, and how sure all of it is.
pub struct Model<'k> {
    known: Known<'k>,
    effects: Effects,
    forest: Option<Forest>,
}

impl<'k> Model<'k> {
    /// The model for what is `known`.
    pub fn fit(known: Known<'k>, seed: u64) -> Self {
        let surprise = |&(index, log): &(usize, Option<f64>)| Some((index, log? - known.prior[index]));
        let surprises: Vec<(usize, f64)> = known.told.iter().filter_map(surprise).collect();
        let effects = Effects::fit(known.categories, &surprises);
        let mut model = Model { known, effects, forest: None };
        let left: Vec<Option<f64>> =
            model.known.told.iter().map(|&(index, log)| Some(log? - model.base(index))).collect();
        let worst = left.iter().flatten().copied().reduce(f64::max).unwrap_or(0.0);
        let values: Vec<f64> = left.into_iter().map(|left| left.unwrap_or(worst + FAILURE)).collect();
        let rows: Vec<Vec<f64>> = model.known.told.iter().map(|&(index, _)| model.known.rows[index].clone()).collect();
        model.forest = Forest::fit(&rows, &values, TREES, seed);
        model
    }

    /// What prior and effects expect of the schedule at `index`.
    pub fn base(&self, index: usize) -> f64 {
        self.known.prior[index] + self.effects.of(self.known.categories, index)
    }

    /// What it expects of each of `candidates`.
    pub fn expect(&self, candidates: &[usize]) -> Vec<Expectation> {
        let rows: Vec<Vec<f64>> = candidates.iter().map(|&index| self.known.rows[index].clone()).collect();
        let Some(forest) = &self.forest else {
            return candidates.iter().map(|&index| Expectation { mean: self.base(index), spread: 0.0 }).collect();
        };
        let expectations = forest.expect(&rows).into_iter().zip(candidates);
        expectations.map(|(left, &index)| Expectation { mean: self.base(index) + left.mean, ..left }).collect()
    }
}
