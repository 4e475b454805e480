//! Element types.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of a tensor's element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// bfloat16: 8 exponent bits, 7 mantissa bits.
    Bf16,
    /// IEEE 754 binary16: 5 exponent bits, 10 mantissa bits.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// 8 bits of the Open Compute Project: 4 exponent bits, 3 mantissa bits, no infinity, at most 448.
    E4m3,
    /// 8 bits of the Open Compute Project: 5 exponent bits, 2 mantissa bits, at most 57344 and infinity.
    E5m2,
    /// A whole number of 8 bits with a sign: a factor of a product, whose sums are whole numbers of 32 bits.
    I8,
    /// Two whole numbers of 4 bits with a sign, −8 to 7: what a second factor of a product holds along K, 32 numbers in 16 bytes.
    I4x2,
    /// A whole number of 32 bits with a sign: what an index holds. No arithmetic is done on it.
    I32,
}

impl Dtype {
    /// Every type of which elements are that arithmetic is done on.
    pub const ALL: [Dtype; 6] = [Dtype::Bf16, Dtype::F16, Dtype::F32, Dtype::E4m3, Dtype::E5m2, Dtype::I8];

    /// The name in Rust, in JSON and in CUDA: `bf16`, `f16`, `f32`, `e4m3`, `e5m2`, `i8`, `i4x2` or `i32`.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::Bf16 => "bf16",
            Dtype::F16 => "f16",
            Dtype::F32 => "f32",
            Dtype::E4m3 => "e4m3",
            Dtype::E5m2 => "e5m2",
            Dtype::I8 => "i8",
            Dtype::I4x2 => "i4x2",
            Dtype::I32 => "i32",
        }
    }

    /// The type of elements of operands called `name`: one among [`ALL`](Self::ALL), or `i4x2`.
    pub fn from_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().chain([Dtype::I4x2]).find(|dtype| dtype.name() == name)
    }

    /// Numbers of one element.
    pub const fn numbers(self) -> u32 {
        if matches!(self, Dtype::I4x2) { 2 } else { 1 }
    }

    /// Size of one element in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Dtype::E4m3 | Dtype::E5m2 | Dtype::I8 | Dtype::I4x2 => 1,
            Dtype::Bf16 | Dtype::F16 => 2,
            Dtype::F32 | Dtype::I32 => 4,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_the_same_name_in_rust_and_in_json() {
        for dtype in Dtype::ALL.into_iter().chain([Dtype::I4x2]) {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
            assert_eq!(serde_json::to_value(dtype).unwrap(), dtype.name());
        }
    }
}
