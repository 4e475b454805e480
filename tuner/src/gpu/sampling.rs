//! How many samples are enough.

use autokernel_runtime::timing::{Statistics, Timing};
use serde::{Deserialize, Serialize};

/// Measured on an H200 at 4096³, as the difference between two recordings of 288 schedules in different orders: median
/// 2.5 % and 90th percentile 9.3 % without a rest, 0.26 % and 1.6 % with 10 ms, 0.20 % and 1.5 % with 60 ms.
const REST_MS: f64 = 10.0;

/// How thoroughly a candidate is timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// At least this many samples.
    pub min_samples: u32,
    /// At most this many.
    pub max_samples: u32,
    /// Stop once the interquartile range over the median is at most this, in percent.
    pub noise_pct: f64,
    /// Stop after this much time on the GPU, in milliseconds, with at least three samples.
    pub limit_ms: f64,
    /// How long the GPU rests before, in milliseconds; longer after a candidate that kept it busy for longer. A chip at
    /// its power limit runs as fast as what ran before allows; after a rest, each candidate meets the same chip.
    pub rest_ms: f64,
    /// How long launches run for the board's counter of energy, in milliseconds; not at all for 0.
    #[serde(default)]
    pub energy_ms: f64,
}

impl Effort {
    /// For ranking thousands of schedules.
    pub const QUICK: Effort =
        Effort { min_samples: 8, max_samples: 30, noise_pct: 1.0, limit_ms: 30.0, rest_ms: REST_MS, energy_ms: 0.0 };
    /// For a search of tens of schedules.
    pub const THOROUGH: Effort =
        Effort { min_samples: 30, max_samples: 200, noise_pct: 0.5, limit_ms: 100.0, rest_ms: REST_MS, energy_ms: 0.0 };

    /// For no more than to know that it runs, and about how long: its time is taken in rounds.
    pub const SOUNDING: Effort =
        Effort { min_samples: 3, max_samples: 3, noise_pct: 100.0, limit_ms: 5.0, rest_ms: 0.0, energy_ms: 0.0 };

    /// Milliseconds of launches for a reading of the energy: some ten steps of the counter.
    pub const ENERGY_MS: f64 = 600.0;

    /// Fewest samples that have a median worth the name.
    const FEWEST: usize = 3;

    /// Whether these samples are enough, after `elapsed_ms` on the GPU.
    pub fn is_met(&self, samples_ms: &[f64], elapsed_ms: f64) -> bool {
        let count = samples_ms.len();
        let quiet = Timing::of_ms(samples_ms).is_ok_and(|timing| timing.spread_pct <= self.noise_pct);
        count >= self.max_samples as usize
            || (count >= self.min_samples as usize && quiet)
            || (count >= Self::FEWEST && elapsed_ms >= self.limit_ms)
    }
}

/// How launches are grouped, from the time one takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// Launches between two events: events resolve half a microsecond.
    pub launches_per_sample: usize,
    /// Samples that are queued before the GPU may begin.
    pub samples_per_batch: usize,
}

impl Batching {
    /// A sample is long against the resolution of events.
    const SAMPLE_MS: f64 = 0.1;
    const MAX_LAUNCHES_PER_SAMPLE: f64 = 32.0;
    /// A batch is long against the start of one, and short enough to stop between two.
    const BATCH_MS: f64 = 2.0;
    const SAMPLES_PER_BATCH: (f64, f64) = (2.0, 20.0);
    /// More launches than the driver queues would wait for the brake.
    const MAX_SAMPLES_PER_ROUND: f64 = 50.0;

    /// The batching for launches of `launch_ms`.
    pub fn new(launch_ms: f64) -> Self {
        let launch_ms = launch_ms.max(1e-4);
        let launches = (Self::SAMPLE_MS / launch_ms).ceil().clamp(1.0, Self::MAX_LAUNCHES_PER_SAMPLE);
        let (fewest, most) = Self::SAMPLES_PER_BATCH;
        let samples = (Self::BATCH_MS / (launches * launch_ms)).floor().clamp(fewest, most);
        Batching { launches_per_sample: launches as usize, samples_per_batch: samples as usize }
    }

    /// The batching whose batch takes about `round_ms`, so that a round has few events and the chip is never idle.
    pub fn for_round(launch_ms: f64, round_ms: f64) -> Self {
        let Batching { launches_per_sample, .. } = Batching::new(launch_ms);
        let sample_ms = launches_per_sample as f64 * launch_ms.max(1e-4);
        let samples = (round_ms / sample_ms).round().clamp(3.0, Self::MAX_SAMPLES_PER_ROUND);
        Batching { launches_per_sample, samples_per_batch: samples as usize }
    }
}

/// Whether the clocks have settled: the medians of the last two batches agree.
pub fn settled(batch_medians_ms: &[f64]) -> bool {
    const TOLERANCE: f64 = 0.01;
    match batch_medians_ms {
        [.., before, last] => (before - last).abs() <= TOLERANCE * last,
        _ => false,
    }
}

/// Whether a batch ran at a clock clearly below that of its run, whose batches had `clocks`: 5 % below their median. A
/// chip at its power limit wanders by less.
pub fn is_throttled(clock: Option<f64>, clocks: &[Option<f64>]) -> bool {
    const CLEARLY: f64 = 0.95;
    let known: Vec<f64> = clocks.iter().copied().flatten().collect();
    match (clock, Statistics::of(&known)) {
        (Some(clock), Ok(of_run)) => clock < CLEARLY * of_run.median,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: Effort =
        Effort { min_samples: 4, max_samples: 8, noise_pct: 1.0, limit_ms: 100.0, rest_ms: 0.0, energy_ms: 0.0 };

    #[test]
    fn quiet_samples_are_enough_once_there_are_the_fewest() {
        assert!(!EFFORT.is_met(&[1.0; 3], 1.0));
        assert!(EFFORT.is_met(&[1.0; 4], 1.0));
    }

    #[test]
    fn noisy_samples_go_on_until_the_most_or_the_limit() {
        let noisy = [1.0, 2.0, 1.0, 2.0, 1.0];
        assert!(!EFFORT.is_met(&noisy, 1.0));
        assert!(EFFORT.is_met(&noisy, 100.0));
        assert!(!EFFORT.is_met(&noisy[..2], 100.0), "two samples have no median worth the name");
        assert!(EFFORT.is_met(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0], 1.0));
    }

    #[test]
    fn short_launches_share_a_sample_and_long_ones_do_not() {
        let short = Batching::new(0.006);
        assert_eq!(short.launches_per_sample, 17);
        let long = Batching::new(12.0);
        assert_eq!((long.launches_per_sample, long.samples_per_batch), (1, 2));
        assert_eq!(Batching::new(0.0).launches_per_sample, 32);
    }

    #[test]
    fn a_clock_clearly_below_that_of_the_run_is_throttled() {
        let clocks = [Some(1700.0), Some(1690.0), None, Some(1500.0), Some(1710.0)];
        assert!(is_throttled(Some(1500.0), &clocks));
        assert!(!is_throttled(Some(1660.0), &clocks));
        assert!(!is_throttled(None, &clocks) && !is_throttled(Some(1000.0), &[]));
    }

    #[test]
    fn clocks_have_settled_when_two_batches_agree() {
        assert!(!settled(&[1.0]));
        assert!(!settled(&[1.0, 1.2]));
        assert!(settled(&[3.0, 1.2, 1.205]));
    }
}
