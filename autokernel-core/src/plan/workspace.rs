//! Device memory of a launch beside its operands.

use serde::{Deserialize, Serialize};

/// A buffer of a launch's workspace. Launches that follow one another on a stream share it, so its size is no more than a
/// grid asks for, and nobody clears it between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Bytes for each block of the launch.
    pub bytes_per_block: u32,
    /// What a kernel finds there.
    pub contents: Contents,
}

/// What a kernel finds in a buffer of its workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// Whatever was left there: it reads nothing that it has not written.
    Anything,
    /// Zeros, and it leaves zeros behind.
    Zeros,
}
