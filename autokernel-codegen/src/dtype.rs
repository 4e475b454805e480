//! Element types.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of a matrix element. Accumulation is always in `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// bfloat16: 8 exponent bits, 7 mantissa bits.
    Bf16,
    /// IEEE 754 half precision.
    F16,
    /// IEEE 754 single precision; an output type only.
    F32,
}

impl Dtype {
    /// Every element type.
    pub const ALL: [Dtype; 3] = [Dtype::Bf16, Dtype::F16, Dtype::F32];

    /// The name in Rust, in JSON and in CUDA: `bf16`, `f16` or `f32`.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Bf16 => "bf16",
            Dtype::F16 => "f16",
            Dtype::F32 => "f32",
        }
    }

    /// The type called `name`.
    pub fn from_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Size of one element in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Dtype::Bf16 | Dtype::F16 => 2,
            Dtype::F32 => 4,
        }
    }

    /// Whether the matrix units multiply this type (as `A` and `B`).
    pub fn is_input(self) -> bool {
        matches!(self, Dtype::Bf16 | Dtype::F16)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
