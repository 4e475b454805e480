//! How far a kernel's result may be from the fp64 reference, from the errors that it cannot avoid.

use autokernel::Dtype;
use autokernel_codegen::matmul::accumulation;

use crate::host::Sample;

/// The steepest slope of any built-in epilogue: that of gelu, in either form, near x = 1.4 is 1.129.
const STEEPEST_EPILOGUE: f64 = 1.13;
/// The epilogue's own rounding in f32: `expf`, `tanhf`, `erff`, a division and a few products.
const EPILOGUE_ROUNDING: f64 = 8.0 * f32::EPSILON as f64;
/// Below so many elements an unlucky few decide the relative L2 error, and only the bound of each element holds.
const ELEMENTS_FOR_L2: usize = 1024;

/// The bounds for one product of inputs that are uniform in [−1, 1).
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    unit_roundoff: f64,
    smallest_rounding: f64,
    accumulation: f64,
}

impl Tolerance {
    /// The bounds for outputs of type `O` after a sum over `k` of products of `input` elements.
    pub fn of<O: Sample>(input: Dtype, k: u32) -> Self {
        let accumulation = accumulation(input, k.into());
        Self { unit_roundoff: O::UNIT_ROUNDOFF, smallest_rounding: O::SMALLEST_ROUNDING, accumulation }
    }

    /// The largest error of one element: `expected = epilogue(sum)`.
    pub fn of_element(&self, sum: f64, expected: f64) -> f64 {
        let rounding = self.unit_roundoff * expected.abs() + self.smallest_rounding;
        let before_rounding = self.in_f32(sum.abs(), expected.abs());
        rounding + before_rounding * (1.0 + self.unit_roundoff)
    }

    /// The largest relative L2 error of a whole result, or `None` if it has too few elements for one.
    ///
    /// Rounding errors are uniform within half a unit in the last place, which is at most the unit roundoff u relative
    /// to the value: their root mean square is at most u / √3 of the result's. A twentieth is left for chance.
    pub fn of_relative_l2(&self, sums: &[f64], expected: &[f64]) -> Option<f64> {
        let norm = l2(expected.iter().copied());
        if expected.len() < ELEMENTS_FOR_L2 || norm == 0.0 {
            return None;
        }
        let before_rounding = l2(sums.iter().zip(expected).map(|(sum, value)| self.in_f32(sum.abs(), value.abs())));
        let floor = self.smallest_rounding * (expected.len() as f64).sqrt();
        Some(1.05 * self.unit_roundoff / 3f64.sqrt() + (before_rounding + floor) / norm)
    }

    /// The largest error before the result is rounded to its type.
    fn in_f32(&self, sum: f64, expected: f64) -> f64 {
        STEEPEST_EPILOGUE * self.accumulation + EPILOGUE_ROUNDING * (sum + expected)
    }
}

/// The largest error of a sum over `k`. The running sum of zero-mean products grows as √k · σ, where σ = 1/3 is the deviation of
/// one product of uniform values; 4 σ covers the peak.
pub fn accumulation(input: Dtype, k: f64) -> f64 {
    accumulation::error(input, k, 4.0 * k.sqrt() / 3.0)
}

/// The Euclidean norm.
pub fn l2(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use autokernel::{Number, bf16, f16};

    fn largest_rounding_is_within_bounds<O: Sample>() {
        for step in 1..4000 {
            let value = step as f32 * 0.001_7;
            let error = f64::from((O::from_f32(value).to_f32() - value).abs());
            assert!(
                error <= Tolerance::of::<O>(Dtype::Bf16, 1).of_element(value.into(), value.into()),
                "{}: {value}",
                O::DTYPE
            );
        }
    }

    #[test]
    fn rounding_alone_is_always_within_bounds() {
        largest_rounding_is_within_bounds::<bf16>();
        largest_rounding_is_within_bounds::<f16>();
        largest_rounding_is_within_bounds::<f32>();
    }

    #[test]
    fn a_result_that_is_off_by_one_bf16_step_is_not() {
        let (value, next) = (bf16::from_f32(3.0), bf16::from_bits(bf16::from_f32(3.0).to_bits() + 1));
        let error = (Number::to_f32(next) - Number::to_f32(value)).abs();
        assert!(f64::from(error) > Tolerance::of::<bf16>(Dtype::Bf16, 1000).of_element(3.0, 3.0));
    }

    #[test]
    fn one_missing_product_of_three_thousand_is_noticed_in_f32() {
        assert!(Tolerance::of::<f32>(Dtype::Bf16, 3000).of_element(18.0, 18.0) < 0.01);
    }
}
