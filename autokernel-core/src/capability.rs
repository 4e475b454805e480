//! A GPU's compute capability.

use std::fmt;

/// A GPU's compute capability, such as 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ComputeCapability {
    /// The part before the dot: the generation.
    pub major: u8,
    /// The part after the dot.
    pub minor: u8,
}

impl ComputeCapability {
    /// A compute capability from its two parts.
    pub const fn new(major: u8, minor: u8) -> Self {
        ComputeCapability { major, minor }
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
