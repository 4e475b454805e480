//! What a body's reductions are, and what an element sees of its partner.

use super::picks::Columns;

/// The sum of a row's values. It is kept in `f64`: no order of additions in `f32` is closer.
pub fn row_sum(values: impl Iterator<Item = f32>) -> f32 {
    sum(values) as f32
}

/// The sum over the number of values; NaN for none.
pub fn row_mean(values: impl ExactSizeIterator<Item = f32>) -> f32 {
    let count = values.len() as f64;
    (sum(values) / count) as f32
}

/// As on a GPU, from 0 on: `Iterator::sum` begins with −0.
fn sum(values: impl Iterator<Item = f32>) -> f64 {
    values.fold(0.0, |sum, value| sum + f64::from(value))
}

/// The greatest value; NaNs are passed over. −∞ where there is none.
pub fn row_max(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(f32::NEG_INFINITY, f32::max)
}

/// The least value; NaNs are passed over. ∞ where there is none.
pub fn row_min(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(f32::INFINITY, f32::min)
}

/// What each element of a row sees of its partner in it; NaN where there is none.
pub fn partners(values: &[f32], columns: Columns) -> Vec<f32> {
    let partner = |column| match columns.at(column, values.len()) {
        Some((partner, is_negated)) => {
            if is_negated {
                -values[partner]
            } else {
                values[partner]
            }
        }
        None => f32::NAN,
    };
    (0..values.len()).map(partner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_pass_over_nan_and_have_a_value_for_an_empty_row() {
        let values = [1.0, f32::NAN, -2.0];
        assert_eq!((row_max(values.into_iter()), row_min(values.into_iter())), (1.0, -2.0));
        assert!(row_sum(values.into_iter()).is_nan() && row_mean(std::iter::empty()).is_nan());
        assert_eq!((row_max(std::iter::empty()), row_min(std::iter::empty())), (f32::NEG_INFINITY, f32::INFINITY));
    }

    #[test]
    fn sums_of_nothing_and_of_negative_zeros_are_zero_without_a_sign() {
        for values in [&[][..], &[-0.0], &[-0.0, -0.0]] {
            assert_eq!(row_sum(values.iter().copied()).to_bits(), 0, "{values:?}");
        }
        assert_eq!(row_mean([-0.0].into_iter()).to_bits(), 0);
    }

    #[test]
    fn a_long_sum_loses_nothing() {
        let count = 1 << 24;
        assert_eq!(row_sum((0..=count).map(|_| 1.0)), count as f32);
        assert_eq!(row_mean((0..count).map(|_| 0.1)), 0.1);
    }
}
