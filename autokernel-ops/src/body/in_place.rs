//! Outputs that are written over what the body reads: `x: &mut Matrix<bf16>` in `x = x + skip;`.

use serde::{Deserialize, Serialize};

/// An output that lies where an input does.
///
/// Both are operands of the kernel, and of one address in a launch. That is right where each element is read by whoever writes it, before
/// that: where the output is a matrix whose elements are read in their places alone, and in no pass behind the one that writes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InPlace {
    /// The output.
    pub output: String,
    /// What it held before.
    pub before: String,
}
