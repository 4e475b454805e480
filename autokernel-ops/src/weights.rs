//! Second factors of whole numbers of few bits beside a first one of 16-bit floats: weights that are quantised.

use std::fmt;

use autokernel_core::Dtype;
use serde::{Deserialize, Serialize};

/// The setting by which a declaration says of how many numbers along K a scale is.
pub const GROUP: &str = "group";

/// How many numbers along K may share a scale.
pub const GROUPS: [u32; 3] = [32, 64, 128];

/// Bytes in which numbers of 4 bits are packed together.
pub const PACKED_BYTES: u32 = 16;

/// The deviation of whole numbers of 8 bits, three of which stay within the type.
pub const OF_8_BITS: f32 = 40.0;
/// That of all numbers of 4 bits alike.
const OF_4_BITS: f32 = 4.6;

/// What zero points of groups are.
pub const ZERO: Dtype = Dtype::I8;

/// What scales of groups may be.
pub const SCALES: [Dtype; 3] = [Dtype::Bf16, Dtype::F16, Dtype::F32];

/// What a second factor holds that is of another type than the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// The type of its elements.
    pub dtype: Dtype,
    /// Scales of groups along K, where it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<Scales>,
}

/// Scales of a second factor: `[k / group, n]`, one for each group of each of its rows, and as many zero points, if it has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Scales {
    /// Numbers along K that share one.
    pub group: u32,
    /// The type of a scale.
    pub dtype: Dtype,
    /// Whether whole numbers of 8 bits are subtracted from those of each group before: what stands for zero.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zeros: bool,
}

impl Weights {
    /// The types that a second factor may have beside a first one of `input` elements, its own apart.
    pub fn beside(input: Dtype) -> &'static [Dtype] {
        if input.bytes() == 2 { &[Dtype::I8, Dtype::I4x2] } else { &[] }
    }

    /// Those of a second factor of `dtype` beside a first one of `input` elements; none where it is no whole numbers beside floats.
    pub fn of(input: Dtype, dtype: Dtype, scales: Option<Scales>) -> Option<Self> {
        Weights::beside(input).contains(&dtype).then_some(Weights { dtype, scales })
    }

    /// What K is a multiple of: whole units of packed numbers, and whole groups.
    pub fn granule(&self) -> u32 {
        let packed = if self.dtype.numbers() > 1 { PACKED_BYTES * self.dtype.numbers() } else { 1 };
        // All of them are powers of two.
        self.scales.map_or(packed, |scales| packed.max(scales.group))
    }

    /// The standard deviation of numbers that fill the range of their type.
    pub fn deviation(&self) -> f32 {
        if self.dtype == Dtype::I4x2 { OF_4_BITS } else { OF_8_BITS }
    }

    /// Bytes of `k` numbers along K of `n` rows, with their scales.
    pub fn bytes(&self, n: f64, k: f64) -> f64 {
        let of_scale = |Scales { group, dtype, zeros }: Scales| {
            f64::from(dtype.bytes() + if zeros { ZERO.bytes() } else { 0 }) / f64::from(group)
        };
        let of_number = f64::from(self.dtype.bytes()) / f64::from(self.dtype.numbers());
        n * k * (of_number + self.scales.map_or(0.0, of_scale))
    }
}

impl fmt::Display for Weights {
    /// `i4x2 in 128` of groups of 128 numbers with a scale each, `i4x2 - zeros in 128` with a zero point too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scales {
            None => write!(f, "{}", self.dtype),
            Some(Scales { group, zeros, .. }) => {
                write!(f, "{}{} in {group}", self.dtype, if zeros { " - zeros" } else { "" })
            }
        }
    }
}
