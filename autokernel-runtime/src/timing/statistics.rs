//! What a set of samples says.

use std::fmt;

use autokernel_core::Ms;

use crate::{Error, Result};

/// Robust statistics of samples of any unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// The median; between two middle samples their mean.
    pub median: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// Interquartile range over median, in percent; quartiles are interpolated linearly (type 7 of Hyndman and Fan).
    pub spread_pct: f64,
    /// How many samples there were.
    pub samples: usize,
}

impl Statistics {
    /// Statistics of samples, in any order.
    ///
    /// # Errors
    /// [`Error::NoSamples`] if there are none, or if one is not a number.
    pub fn of(samples: &[f64]) -> Result<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Err(Error::NoSamples { what: "there is nothing to take a median of" });
        };
        if sorted.iter().any(|sample| sample.is_nan()) {
            return Err(Error::NoSamples { what: "a sample is not a number" });
        }
        let median = quantile(&sorted, 0.5);
        let interquartile_range = quantile(&sorted, 0.75) - quantile(&sorted, 0.25);
        let spread_pct = if median == 0.0 { 0.0 } else { 100.0 * interquartile_range / median.abs() };
        Ok(Self { median, min, max, spread_pct, samples: sorted.len() })
    }
}

/// A quantile of sorted samples, interpolated linearly between its neighbours.
fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let position = fraction * (sorted.len().saturating_sub(1)) as f64;
    let below = position.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(sorted.len() - 1)]);
    low + (high - low) * (position - below as f64)
}

/// How long launches took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Median time of a launch, in milliseconds.
    pub median_ms: f64,
    /// Shortest time, in milliseconds.
    pub min_ms: f64,
    /// Longest time, in milliseconds.
    pub max_ms: f64,
    /// Interquartile range over median, in percent; see [`Statistics::spread_pct`].
    pub spread_pct: f64,
    /// How many samples there were.
    pub samples: usize,
}

impl Timing {
    /// The timing of samples in milliseconds, in any order.
    ///
    /// # Errors
    /// As [`Statistics::of`].
    pub fn of_ms(samples: &[f64]) -> Result<Self> {
        let Statistics { median, min, max, spread_pct, samples } = Statistics::of(samples)?;
        Ok(Self { median_ms: median, min_ms: min, max_ms: max, spread_pct, samples })
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median_ms, min_ms, spread_pct, samples, .. } = self;
        write!(f, "{} (min {}, spread {spread_pct:.1} %, {samples} samples)", Ms(*median_ms), Ms(*min_ms))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quartiles_are_interpolated_linearly() {
        let statistics = Statistics::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((statistics.median, statistics.min, statistics.max), (2.5, 1.0, 4.0));
        // Quartiles 1.75 and 3.25.
        assert_eq!(statistics.spread_pct, 60.0);
    }

    #[test]
    fn one_sample_has_no_spread() {
        let timing = Timing::of_ms(&[0.25]).unwrap();
        assert_eq!((timing.median_ms, timing.spread_pct, timing.samples), (0.25, 0.0, 1));
    }

    #[test]
    fn one_outlier_moves_neither_median_nor_spread() {
        let steady = [1.0; 20].to_vec();
        let mut disturbed = steady.clone();
        disturbed[7] = 1000.0;
        let (a, b) = (Statistics::of(&steady).unwrap(), Statistics::of(&disturbed).unwrap());
        assert_eq!((a.median, a.spread_pct), (b.median, b.spread_pct));
    }

    #[test]
    fn no_samples_and_samples_that_are_no_numbers_are_refused() {
        assert!(Statistics::of(&[]).unwrap_err().to_string().ends_with("Measure at least once"));
        assert!(Statistics::of(&[1.0, f64::NAN]).is_err());
    }

    proptest! {
        #[test]
        fn the_median_lies_between_the_extremes_and_order_does_not_matter(
            samples in prop::collection::vec(0.001f64..1e3, 1..50),
        ) {
            let statistics = Statistics::of(&samples).unwrap();
            prop_assert!(statistics.min <= statistics.median && statistics.median <= statistics.max);
            prop_assert!(statistics.spread_pct >= 0.0);
            let reversed: Vec<f64> = samples.iter().rev().copied().collect();
            prop_assert_eq!(statistics, Statistics::of(&reversed).unwrap());
        }
    }
}
