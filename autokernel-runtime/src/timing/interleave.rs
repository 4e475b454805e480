//! Comparing candidates within rounds, so that drift cancels.

use super::{Statistics, Timer, Timing};
use crate::Result;

/// One candidate of an interleaved comparison; it is given the number of the launch within its batch.
pub type Work<'w> = &'w mut dyn FnMut(usize) -> Result<()>;

/// The times of several candidates that were run in turn, round after round.
#[derive(Debug, Clone, PartialEq)]
pub struct Interleaved {
    /// `round_ms[candidate][round]`: mean time of a launch in that round, in milliseconds.
    pub round_ms: Vec<Vec<f64>>,
}

impl Interleaved {
    /// How long one candidate took, over all rounds.
    ///
    /// # Errors
    /// [`Error::NoSamples`](crate::Error::NoSamples) without rounds, or for a candidate that was not there.
    pub fn timing(&self, candidate: usize) -> Result<Timing> {
        Timing::of_ms(self.rounds(candidate))
    }

    /// Time of `candidate` over time of `baseline`, round by round: below 1 where the candidate was faster.
    pub fn ratios(&self, candidate: usize, baseline: usize) -> Vec<f64> {
        let pairs = self.rounds(candidate).iter().zip(self.rounds(baseline));
        pairs.map(|(candidate, baseline)| candidate / baseline).collect()
    }

    /// Statistics of [`Interleaved::ratios`]: the median ratio, and by how much rounds disagree.
    ///
    /// # Errors
    /// As [`Interleaved::timing`].
    pub fn ratio(&self, candidate: usize, baseline: usize) -> Result<Statistics> {
        Statistics::of(&self.ratios(candidate, baseline))
    }

    fn rounds(&self, candidate: usize) -> &[f64] {
        self.round_ms.get(candidate).map_or(&[], Vec::as_slice)
    }
}

impl Timer {
    /// Runs every candidate once in each of `rounds` rounds and times it there.
    ///
    /// With `launches` = 1 each run is a single launch with the timer's [`Cache`](super::Cache); otherwise a batch of
    /// that many back to back. Each round begins with another candidate, so that none always follows the same one.
    ///
    /// # Errors
    /// What a candidate returns, or the driver's own error.
    pub fn interleave(&mut self, rounds: usize, launches: usize, candidates: &mut [Work<'_>]) -> Result<Interleaved> {
        let count = candidates.len();
        let mut round_ms = vec![Vec::with_capacity(rounds); count];
        for round in 0..rounds {
            for turn in 0..count {
                let candidate = (round + turn) % count;
                let work = &mut candidates[candidate];
                let ms = match launches {
                    0 | 1 => self.time_once(|| work(0))?,
                    _ => self.time_batch(launches, work)?,
                };
                round_ms[candidate].push(ms);
            }
        }
        Ok(Interleaved { round_ms })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::timing::Cache;
    use crate::{Device, Error};

    #[test]
    fn a_ratio_within_rounds_cancels_drift_that_separate_medians_do_not() {
        // The clock falls by 10 % in every round; the candidate is 5 % faster throughout.
        let baseline: Vec<f64> = (0..10).map(|round| 1.1f64.powi(round)).collect();
        let candidate: Vec<f64> = baseline.iter().map(|ms| 0.95 * ms).collect();
        let interleaved = Interleaved { round_ms: vec![baseline, candidate] };
        let ratio = interleaved.ratio(1, 0).unwrap();
        assert!((ratio.median - 0.95).abs() < 1e-12 && ratio.spread_pct < 1e-9);
        assert!(interleaved.timing(1).unwrap().spread_pct > 30.0);
    }

    #[test]
    fn every_round_runs_every_candidate_and_begins_with_another_one() {
        let order = RefCell::new(Vec::new());
        let mut first = |_| {
            order.borrow_mut().push('a');
            Ok(())
        };
        let mut second = |_| {
            order.borrow_mut().push('b');
            Ok(())
        };
        let mut timer = Timer::new(&Device::cpu(), Cache::Warm).unwrap();
        // Two launches a batch, so each letter comes twice.
        let interleaved = timer.interleave(3, 2, &mut [&mut first, &mut second]).unwrap();
        assert_eq!(order.borrow().iter().collect::<String>(), "aabbbbaaaabb");
        assert!(interleaved.round_ms.iter().all(|rounds| rounds.len() == 3));
        assert_eq!(interleaved.ratios(0, 1).len(), 3);
    }

    #[test]
    fn a_candidate_that_was_not_there_has_no_samples() {
        let interleaved = Interleaved { round_ms: vec![vec![1.0]] };
        assert!(matches!(interleaved.timing(1), Err(Error::NoSamples { .. })));
        assert!(matches!(interleaved.ratio(0, 7), Err(Error::NoSamples { .. })));
    }

    #[test]
    fn nothing_to_compare_is_no_fault() {
        let mut timer = Timer::new(&Device::cpu(), Cache::Warm).unwrap();
        assert!(timer.interleave(3, 1, &mut []).unwrap().round_ms.is_empty());
    }
}
