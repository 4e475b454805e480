//! What the measurements so far say about each knob's values.

use super::categories::Categories;

/// Additive effects of knob values on the logarithm of the time, beyond what the prior expects.
///
/// Fitted by backfitting with shrinkage: a value seen once moves little, one seen often as much as its mean says.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// `values[knob][value]`.
    values: Vec<Vec<Effect>>,
    /// The mean surprise, which no knob explains.
    mean: f64,
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
    pub fn fit(categories: &Categories, surprises: &[(usize, f64)]) -> Self {
        let values = categories.counts().iter().map(|&count| vec![Effect::default(); count]).collect();
        let mut effects = Effects { values, mean: 0.0 };
        if surprises.is_empty() {
            return effects;
        }
        effects.mean = surprises.iter().map(|(_, surprise)| surprise).sum::<f64>() / surprises.len() as f64;
        for _ in 0..ROUNDS {
            for knob in 0..categories.knobs() {
                effects.refit(categories, surprises, knob);
            }
        }
        effects
    }

    fn refit(&mut self, categories: &Categories, surprises: &[(usize, f64)], knob: usize) {
        let mut sums = vec![(0.0, 0); self.values[knob].len()];
        for &(index, surprise) in surprises {
            let code = categories.code(knob, index);
            let others = self.of(categories, index) - self.values[knob][code].mean;
            let sum: &mut (f64, u32) = &mut sums[code];
            *sum = (sum.0 + surprise - self.mean - others, sum.1 + 1);
        }
        for (effect, (sum, count)) in self.values[knob].iter_mut().zip(sums) {
            *effect = Effect { mean: sum / (f64::from(count) + SHRINKAGE), count };
        }
    }

    /// The effects of all knob values of the schedule at `index` together.
    pub fn of(&self, categories: &Categories, index: usize) -> f64 {
        self.values.iter().enumerate().map(|(knob, values)| values[categories.code(knob, index)].mean).sum()
    }

    /// How little is known of the knob values of the schedule at `index`: the sum of 1/√(1 + count).
    pub fn novelty(&self, categories: &Categories, index: usize) -> f64 {
        let count = |(knob, values): (usize, &Vec<Effect>)| values[categories.code(knob, index)].count;
        self.values.iter().enumerate().map(count).map(|count| 1.0 / f64::from(1 + count).sqrt()).sum()
    }
}
