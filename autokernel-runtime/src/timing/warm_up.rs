//! Running until the clocks have settled.

use super::Timer;
use crate::Result;

/// When a warm-up ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// At least this long, in milliseconds of launches.
    pub min_ms: f64,
    /// At most about this long, in milliseconds of launches, settled or not.
    pub max_ms: f64,
    /// Settled: the last [`WarmUp::WINDOW`] batches differ by at most this much, in percent of the fastest.
    pub tolerance_pct: f64,
}

impl WarmUp {
    /// Batches that must agree.
    pub const WINDOW: usize = 5;

    /// Length of a batch, in milliseconds: long against the resolution of events, short against thermal drift.
    const BATCH_MS: f64 = 10.0;

    /// The most launches of a batch.
    const MAX_BATCH: f64 = 10_000.0;

    fn settled(&self, batches_ms: &[f64]) -> bool {
        let Some(last) = batches_ms.len().checked_sub(Self::WINDOW).and_then(|first| batches_ms.get(first..)) else {
            return false;
        };
        let fastest = last.iter().copied().fold(f64::INFINITY, f64::min);
        let slowest = last.iter().copied().fold(0.0, f64::max);
        slowest - fastest <= fastest * self.tolerance_pct / 100.0
    }
}

impl Default for WarmUp {
    /// 200 ms to 2 s, batches within 1 %.
    fn default() -> Self {
        Self { min_ms: 200.0, max_ms: 2000.0, tolerance_pct: 1.0 }
    }
}

/// How a warm-up ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUpReport {
    /// Milliseconds of launches.
    pub elapsed_ms: f64,
    /// Mean time of a launch in the last batch, in milliseconds.
    pub last_ms: f64,
    /// Whether the last batches agreed; if not, report a larger spread, or warm up longer.
    pub settled: bool,
}

impl Timer {
    /// Runs `work` back to back until its time no longer changes: a GPU raises its clocks within milliseconds and
    /// lowers them again as it warms up. `work` is given the number of the launch.
    ///
    /// # Errors
    /// What `work` returns, or the driver's own error.
    pub fn warm_up(&mut self, until: WarmUp, mut work: impl FnMut(usize) -> Result<()>) -> Result<WarmUpReport> {
        let first_ms = self.time_batch(1, &mut work)?;
        let batch = (WarmUp::BATCH_MS / first_ms.max(1e-6)).ceil().clamp(1.0, WarmUp::MAX_BATCH) as usize;
        let mut launched = 1;
        let mut elapsed_ms = first_ms;
        let mut batches_ms = Vec::new();
        loop {
            let mean_ms = self.time_batch(batch, |launch| work(launched + launch))?;
            launched += batch;
            elapsed_ms += mean_ms * batch as f64;
            batches_ms.push(mean_ms);
            let settled = until.settled(&batches_ms);
            let too_many = batches_ms.len() >= Self::MAX_BATCHES;
            if (settled && elapsed_ms >= until.min_ms) || elapsed_ms >= until.max_ms || too_many {
                return Ok(WarmUpReport { elapsed_ms, last_ms: mean_ms, settled });
            }
        }
    }

    /// An end for work that takes no time at all.
    const MAX_BATCHES: usize = 1000;
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::Device;
    use crate::timing::Cache;

    #[test]
    fn batches_settle_when_the_last_few_agree() {
        let until = WarmUp::default();
        assert!(!until.settled(&[1.0; 4]));
        assert!(until.settled(&[9.0, 1.0, 1.005, 1.0, 1.002, 1.009]));
        assert!(!until.settled(&[1.0, 1.0, 1.0, 1.0, 1.02]));
    }

    #[test]
    fn a_warm_up_ends_at_its_limit_even_if_nothing_settles() {
        let mut timer = Timer::new(&Device::cpu(), Cache::Warm).unwrap();
        let until = WarmUp { min_ms: 0.0, max_ms: 30.0, tolerance_pct: -1.0 };
        let mut calls = Vec::new();
        let report = timer
            .warm_up(until, |launch| {
                calls.push(launch);
                sleep(Duration::from_millis(1));
                Ok(())
            })
            .unwrap();
        assert!(!report.settled && report.elapsed_ms >= 30.0, "{report:?}");
        assert!(calls.iter().copied().eq(0..calls.len()), "every launch is numbered once");
    }

    #[test]
    fn work_that_takes_no_time_still_ends() {
        let mut timer = Timer::new(&Device::cpu(), Cache::Warm).unwrap();
        let until = WarmUp { min_ms: 1e9, max_ms: 1e9, tolerance_pct: 1.0 };
        assert!(timer.warm_up(until, |_| Ok(())).is_ok());
    }
}
