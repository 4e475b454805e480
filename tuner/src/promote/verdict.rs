//! Whether a winner's lead is more than noise.

use autokernel_runtime::timing::Statistics;

use super::incumbent::Incumbent;
use crate::evaluate::{Final, FinalTime};
use crate::objective::Objective;
use crate::outcome::Failure;
use crate::trial::Trial;

/// Whether a winner replaces the incumbent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it does.
    pub promoted: bool,
    /// Why, in a sentence with the numbers.
    pub reason: String,
}

/// How much less one contender takes than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Of what: energy where both have one.
    pub of: Objective,
    /// What is saved, in percent of the other's; negative if it takes more.
    pub gain_pct: f64,
    /// The gain that noise alone explains, in percent.
    pub floor_pct: f64,
    /// Whether rounds were interleaved and compared one by one.
    pub paired: bool,
}

/// Windows of a GPU that were not interleaved drift apart by about this much.
const UNPAIRED_FLOOR_PCT: f64 = 0.5;
/// What two readings of a board's counter of energy tell apart: it is looked at once a batch, of some ten of 600 ms, the contenders
/// are metered one after the other and not in turns, and the chip warms up.
pub(crate) const ENERGY_FLOOR_PCT: f64 = 5.0;
/// What interleaved rounds can still tell apart.
const PAIRED_FLOOR_PCT: f64 = 0.2;
/// Interquartile range of a normal distribution, in standard deviations.
const IQR_SIGMAS: f64 = 1.349;
/// Standard error of a median over that of a mean, for a normal distribution: √(π/2).
const MEDIAN_ERROR: f64 = 1.2533;

/// How much faster `challenger` is than `incumbent`.
///
/// With interleaved rounds: one minus the median of the ratios, against twice that median's standard error. Without:
/// the difference of the medians, against the larger of the two spreads.
pub fn compare(challenger: &FinalTime, incumbent: &FinalTime) -> Comparison {
    if let (Some(new), Some(old)) = (challenger.measurement.energy_mj, incumbent.measurement.energy_mj) {
        let gain_pct = 100.0 * (1.0 - new / old);
        return Comparison { of: Objective::Energy, gain_pct, floor_pct: ENERGY_FLOOR_PCT, paired: false };
    }
    let of = Objective::Time;
    let rounds = challenger.round_ms.len();
    if rounds >= 3 && rounds == incumbent.round_ms.len() {
        let pairs = challenger.round_ms.iter().zip(&incumbent.round_ms);
        let ratios: Vec<f64> = pairs.map(|(challenger, incumbent)| challenger / incumbent).collect();
        if let Ok(ratio) = Statistics::of(&ratios) {
            let error_pct = MEDIAN_ERROR * ratio.spread_pct / IQR_SIGMAS / (rounds as f64).sqrt();
            let floor_pct = PAIRED_FLOOR_PCT.max(2.0 * error_pct);
            return Comparison { of, gain_pct: 100.0 * (1.0 - ratio.median), floor_pct, paired: true };
        }
    }
    let (new, old) = (challenger.measurement, incumbent.measurement);
    let gain_pct = 100.0 * (1.0 - new.median_ms / old.median_ms);
    Comparison { of, gain_pct, floor_pct: UNPAIRED_FLOOR_PCT.max(new.spread_pct).max(old.spread_pct), paired: false }
}

/// Whether `winner`, measured on `gpu`, replaces `incumbent`.
///
/// Recorded times were measured after a rest. Large products run at another clock under load, and in another order: so
/// recorded times do not replace what won a final under load on the same kind of GPU.
pub(super) fn verdict(winner: Option<&(Trial, FinalTime)>, incumbent: &Incumbent, time: &Final, gpu: &str) -> Verdict {
    let kept = |reason: String| Verdict { promoted: false, reason };
    let origin = &incumbent.origin;
    let Some((trial, winner_time)) = winner else {
        return kept("no schedule of this search works".to_owned());
    };
    if trial.schedule == incumbent.schedule {
        return kept(format!("the search found the schedule that is in use ({origin})"));
    }
    let incumbent_time = match time {
        Ok(time) => time,
        Err(Failure::NotRecorded) => {
            return kept(format!(
                "the schedule in use ({origin}) is not in the recorded space, so nothing says which is faster"
            ));
        }
        Err(failure) => {
            let reason = format!("the schedule in use ({origin}) cannot be used here: {failure}");
            return Verdict { promoted: true, reason };
        }
    };
    let Comparison { of, gain_pct, floor_pct, paired } = compare(winner_time, incumbent_time);
    let how = match of {
        Objective::Energy => "by the board's counter",
        Objective::Time if paired => "in interleaved rounds",
        Objective::Time => "by recorded times",
    };
    if gain_pct > floor_pct && !paired && of.is_time() && incumbent.won_on() == Some(gpu) {
        return kept(format!(
            "{gain_pct:.1} % less time than what is in use ({origin}) {how}, but that won a final under load on this kind of GPU, \
             which recorded times do not outweigh; tune on the GPU itself"
        ));
    }
    if gain_pct > floor_pct {
        let reason =
            format!("{gain_pct:.1} % less {of} than what is in use ({origin}) {how}; noise explains {floor_pct:.1} %");
        return Verdict { promoted: true, reason };
    }
    let lead = if gain_pct >= 0.0 {
        format!("only {gain_pct:.1} % less {of}")
    } else {
        format!("{:.1} % more {of}", -gain_pct)
    };
    kept(format!("{lead} than what is in use ({origin}) {how}; noise explains {floor_pct:.1} %"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Measurement;

    fn recorded(median_ms: f64, spread_pct: f64) -> FinalTime {
        FinalTime { measurement: Measurement::new(median_ms, spread_pct, 20), round_ms: Vec::new() }
    }

    fn interleaved(round_ms: Vec<f64>) -> FinalTime {
        let timing = Statistics::of(&round_ms).unwrap();
        FinalTime { measurement: Measurement::new(timing.median, timing.spread_pct, 20), round_ms }
    }

    #[test]
    fn a_lead_within_the_recorded_spread_is_noise() {
        let comparison = compare(&recorded(0.990, 0.4), &recorded(1.0, 1.5));
        assert!(comparison.gain_pct < comparison.floor_pct, "{comparison:?}");
    }

    #[test]
    fn where_both_have_an_energy_that_decides_whatever_their_times_are() {
        let with = |energy_mj, time: FinalTime| FinalTime {
            measurement: Measurement { energy_mj: Some(energy_mj), ..time.measurement },
            ..time
        };
        let slower = interleaved(vec![1.2, 1.21, 1.19]);
        let faster = interleaved(vec![1.0, 1.01, 0.99]);
        let compared = compare(&with(90.0, slower.clone()), &with(100.0, faster.clone()));
        assert_eq!((compared.of, compared.paired), (Objective::Energy, false));
        assert!((compared.gain_pct - 10.0).abs() < 1e-9 && compared.floor_pct < 10.0);
        let near = compare(&with(96.0, slower.clone()), &with(100.0, faster.clone()));
        assert!(near.gain_pct < near.floor_pct, "steps of the counter are some percent of a reading: {near:?}");
        assert!(compare(&with(90.0, slower), &faster).gain_pct < 0.0, "one has none: by time");
    }

    #[test]
    fn a_lead_past_both_spreads_counts() {
        let comparison = compare(&recorded(0.97, 0.4), &recorded(1.0, 1.5));
        assert!(comparison.gain_pct > comparison.floor_pct, "{comparison:?}");
    }

    #[test]
    fn a_steady_lead_counts_though_the_clock_drifts_tenfold_more() {
        let clock: Vec<f64> = (0..20).map(|round| 1.0 + 0.01 * f64::from(round)).collect();
        let faster = interleaved(clock.iter().map(|ms| 0.99 * ms).collect());
        let comparison = compare(&faster, &interleaved(clock));
        assert!(comparison.paired && comparison.gain_pct > comparison.floor_pct, "{comparison:?}");
        assert!(faster.measurement.spread_pct > 5.0);
    }

    #[test]
    fn rounds_that_disagree_are_noise_whatever_their_median() {
        let noise = |phase: f64| (0..20).map(|round| 1.0 + 0.05 * (f64::from(round) * 2.4 + phase).sin()).collect();
        let comparison = compare(&interleaved(noise(0.0)), &interleaved(noise(1.3)));
        assert!(comparison.gain_pct < comparison.floor_pct, "{comparison:?}");
    }
}
