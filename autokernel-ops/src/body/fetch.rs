//! Elements that stand elsewhere than the one that a body writes.

use serde::{Deserialize, Serialize};

/// `of[row]`: a value of each element, that of an operand in the row that an index picks. Where there is no such row it is no
/// number: a NaN shows what is wrong with an index, and nothing outside of the operand is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// Unique in its body, operands included.
    pub name: String,
    /// The operand: a matrix, or a column.
    pub of: String,
    /// The index.
    pub row: String,
}
