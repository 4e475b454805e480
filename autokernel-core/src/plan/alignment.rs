//! Where operands must lie.

use serde::{Deserialize, Serialize};

/// What a kernel asks of where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alignment {
    /// The operand's number in the signature.
    pub operand: u8,
    /// Of what every address below is a multiple, in bytes.
    pub bytes: u32,
    /// Whether each row must begin so, or the first one alone.
    pub rows: bool,
}

impl Alignment {
    /// A line of the L2 cache, in bytes: a row of a load that straddles two costs two requests.
    pub const LINE: u64 = 128;
    /// Rows of at least this many bytes step by whole lines in a copy, at a cost of an eighth more of it at most.
    pub const LINED_ROW: u64 = 1024;
}
