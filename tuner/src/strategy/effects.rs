//! What the measurements so far say about each knob's values.

use std::collections::HashMap;

use autokernel_codegen::schedule::Family;

use super::lattice::{Knob, Lattice};

/// Additive effects of knob values on the logarithm of the time, beyond what the prior expects.
///
/// Fitted by backfitting with shrinkage: a value seen once moves little, one seen often as much as its mean says.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    values: HashMap<(Family, Knob, u8), Effect>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Effect {
    mean: f64,
    count: u32,
}

/// How many observations a value needs before its own mean outweighs the assumption that it has no effect.
const SHRINKAGE: f64 = 1.0;
/// Rounds of backfitting; effects settle quickly because each is shrunk.
const ROUNDS: usize = 12;

impl Effects {
    /// The effects that explain `surprises` best: schedules, and by how much the logarithm of their time missed the
    /// prior.
    pub fn fit(lattice: &Lattice, surprises: &[(usize, f64)]) -> Self {
        let mut effects = Effects::default();
        if surprises.is_empty() {
            return effects;
        }
        let mean = surprises.iter().map(|(_, surprise)| surprise).sum::<f64>() / surprises.len() as f64;
        for _ in 0..ROUNDS {
            for knob in Knob::ALL {
                effects.refit(lattice, surprises, mean, knob);
            }
        }
        effects
    }

    fn refit(&mut self, lattice: &Lattice, surprises: &[(usize, f64)], mean: f64, knob: Knob) {
        let mut sums: HashMap<(Family, Knob, u8), (f64, u32)> = HashMap::new();
        for &(index, surprise) in surprises {
            let key = key(lattice, index, knob);
            let own = self.values.get(&key).map_or(0.0, |effect| effect.mean);
            let left = surprise - mean - (self.of(lattice, index) - own);
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + left, sum.1 + 1);
        }
        for (key, (sum, count)) in sums {
            self.values.insert(key, Effect { mean: sum / (f64::from(count) + SHRINKAGE), count });
        }
    }

    /// The effects of all knob values of the schedule at `index` together.
    pub fn of(&self, lattice: &Lattice, index: usize) -> f64 {
        Knob::ALL.iter().filter_map(|&knob| self.values.get(&key(lattice, index, knob))).map(|effect| effect.mean).sum()
    }

    /// How little is known of the knob values of the schedule at `index`: the sum of 1/√(1 + count).
    pub fn novelty(&self, lattice: &Lattice, index: usize) -> f64 {
        let count = |knob: &Knob| self.values.get(&key(lattice, index, *knob)).map_or(0, |effect| effect.count);
        Knob::ALL.iter().map(|knob| 1.0 / f64::from(1 + count(knob)).sqrt()).sum()
    }
}

fn key(lattice: &Lattice, index: usize, knob: Knob) -> (Family, Knob, u8) {
    (lattice.schedule(index).family(), knob, lattice.point(index)[knob as usize])
}
