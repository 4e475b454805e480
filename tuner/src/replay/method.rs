//! How a space was measured.

use serde::{Deserialize, Serialize};

/// How a space was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// What the matrices held: `uniform random in [-1, 1)`.
    pub data: String,
    /// State of the L2 cache before each sample: `cold` or `warm`.
    pub cache: String,
    /// Samples behind each time.
    pub samples: u32,
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// The command that measures it again.
    pub command: String,
    /// Which part of the space was measured; the whole if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<String>,
}
