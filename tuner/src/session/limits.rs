//! What ends a search beside its budget.

use std::time::Instant;

use crate::trial::Trial;

/// What ends a search beside its budget.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// When it ends.
    pub until: Option<Instant>,
    /// How many trials in a row may bring nothing faster.
    pub patience: Option<usize>,
}

impl Limits {
    /// Whether its time is over.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Whether the last of `trials` have brought nothing faster for too long.
    pub fn is_plateau(&self, trials: &[Trial]) -> bool {
        let Some(patience) = self.patience else { return false };
        let mut best = None::<f64>;
        let mut since = 0;
        for trial in trials {
            match trial.cost().filter(|&cost| best.is_none_or(|best| cost < best)) {
                Some(cost) => (best, since) = (Some(cost), 0),
                None => since += 1,
            }
        }
        since >= patience
    }
}
