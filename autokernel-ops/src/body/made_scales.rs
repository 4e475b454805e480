//! Scales of blocks of an output that a kernel makes itself.

use autokernel_core::Dtype;
use serde::{Deserialize, Serialize};

/// `output * scales = value;`: each row's blocks of so many columns have a scale, by which the value is divided.
///
/// With `largest` the largest magnitude of a block's values in f32, of numbers alone and at most the largest finite f32:
/// the scale is `largest / LARGEST`, at least 2⁻¹²⁶, and an element is `value * (1 / scale)`, rounded once, where `LARGEST` is
/// the output type's largest number. So a block of zeros has zeros, NaN stays NaN, and what is infinite becomes `LARGEST`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeScales {
    /// The output that is scaled.
    pub output: String,
    /// The output that holds the scales, `[rows, ⌈columns / block⌉]`, or a column, where a block holds a row.
    pub scales: String,
    /// Columns of a block, at least those of a row where that has one scale.
    pub block: u32,
}

impl MadeScales {
    /// The largest number of a type that is scaled; 1 of others.
    pub const fn largest(dtype: Dtype) -> f32 {
        match dtype {
            Dtype::E4m3 => 448.0,
            Dtype::E5m2 => 57_344.0,
            _ => 1.0,
        }
    }
}
