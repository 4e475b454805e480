//! Which products a launch computes.

/// Which products a launch computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// One.
    One,
    /// Products of one shape, each with matrices of its own, or sharing some.
    Batch,
    /// Of groups of the rows of one matrix, each with a second factor of its own; offsets in memory say where they begin.
    Groups,
}

impl Many {
    /// Its name in CUDA.
    pub const fn name(self) -> &'static str {
        match self {
            Many::One => "kNone",
            Many::Batch => "kBatch",
            Many::Groups => "kGroups",
        }
    }
}
