//! Which products a launch computes.

/// Which products a launch computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// One.
    One,
    /// Products of one shape, each with matrices of its own, or sharing some.
    Batch,
    /// The same, of whose rows as many count as numbers in memory say, one for each product.
    Masked,
    /// Of groups of the rows of one matrix, each with a second factor of its own; offsets in memory say where they begin.
    Groups,
    /// One for each group of what is summed: of the rows of two transposed matrices; offsets in memory say where they begin.
    GroupsAlongK,
}

impl Many {
    /// Its name in CUDA, to which parts of K make no difference: they are a batch whose header says what each product sums.
    pub const fn name(self) -> &'static str {
        match self {
            Many::One => "kNone",
            Many::Batch | Many::GroupsAlongK => "kBatch",
            Many::Masked | Many::Groups => "kGroups",
        }
    }

    /// Whether the device alone knows how many rows are computed.
    pub const fn counts_rows_on_device(self) -> bool {
        matches!(self, Many::Masked | Many::Groups)
    }

    /// Whether numbers in memory say where groups begin, one more than there are.
    pub const fn has_offsets(self) -> bool {
        matches!(self, Many::Groups | Many::GroupsAlongK)
    }
}
