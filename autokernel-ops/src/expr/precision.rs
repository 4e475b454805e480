//! How finely kernels compute functions.

use autokernel_core::Dtype;

/// How finely a kernel computes functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// To a few units in the last place of fp32.
    Full,
    /// Enough for results of 16 bits and fewer, as `fast_math.cuh` says of each function.
    Short,
    /// Enough for what is exponentiated into results of 16 bits: as [`Precision::Short`], with a tanh to 2⁻¹¹ of its value.
    Exponent,
}

impl Precision {
    /// Whether results have 16 bits or fewer.
    pub(super) fn is_short(self) -> bool {
        self != Precision::Full
    }

    /// What results of these types need.
    pub fn of(results: impl IntoIterator<Item = Dtype>) -> Self {
        if results.into_iter().all(|dtype| dtype.bytes() <= 2) { Precision::Short } else { Precision::Full }
    }
}
