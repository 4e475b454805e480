//! Rates as people read them, and the numbers of an axis.

use std::fmt;
use std::ops::Range;

/// A rate in 10¹² FLOP/s, with at least three digits that tell something: a row-wise kernel of 4.6 is not one of 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

/// Digits of a rate.
const DIGITS: i32 = 3;
/// The most decimals of anything.
const MOST_DECIMALS: i32 = 12;

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.abs().log10().floor();
        let decimals = if magnitude.is_finite() { DIGITS - 1 - magnitude as i32 } else { 0 };
        write!(f, "{:.*}", decimals.clamp(0, MOST_DECIMALS) as usize, self.0)
    }
}

/// How the numbers of an axis over `range`, at most `numbers` of them, are written: with as many decimals as tell them apart.
pub fn axis_number(range: &Range<f64>, numbers: usize) -> impl Fn(&f64) -> String + use<> {
    let step = (range.end - range.start) / numbers as f64;
    let decimals = if step > 0.0 { (-step.log10()).ceil() as i32 } else { 0 };
    let decimals = decimals.clamp(0, MOST_DECIMALS) as usize;
    move |value| format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use plotters::coord::ranged1d::Ranged;
    use plotters::coord::types::RangedCoordf64;

    use super::*;

    #[test]
    fn a_rate_has_three_digits_that_tell_something() {
        let written = [786.4, 61.37, 8.125, 0.4567, 0.0, f64::INFINITY].map(|rate| Rate(rate).to_string());
        assert_eq!(written, ["786", "61.4", "8.12", "0.457", "0", "inf"]);
    }

    /// The axes of row-wise kernels, of 2 to 5 TFLOP/s, once had the numbers 2, 2, 3, 4, 4, 4.
    #[test]
    fn no_axis_has_a_number_twice() {
        for (low, high) in
            [(1.9, 4.7), (4.4, 5.1), (0.2, 0.26), (52.0, 71.0), (540.0, 810.0), (1e-4, 3e-4), (0.0, 2e-7)]
        {
            for most in [6, 11] {
                let points = RangedCoordf64::from(low..high).key_points(most);
                let numbers: Vec<String> = points.iter().map(axis_number(&(low..high), most)).collect();
                let mut distinct = numbers.clone();
                distinct.dedup();
                assert!(numbers.len() > 1 && numbers == distinct, "{low}..{high}: {numbers:?}");
            }
        }
    }
}
