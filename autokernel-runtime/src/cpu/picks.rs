//! Rows that an index picks.

/// An index that picks rows of an operand, by their numbers among the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// What is read, or written, at rows that are picked.
    pub operand: usize,
    /// What picks them.
    pub index: usize,
}

/// The rows that an index picks.
#[derive(Clone, Copy)]
pub(super) struct Picked<'a> {
    pub index: &'a [i32],
    /// How many there are to pick from.
    pub rows: usize,
}

impl Picked<'_> {
    /// The row that is picked for row `number`, if it is there.
    pub fn row(&self, number: usize) -> Option<usize> {
        let row = usize::try_from(*self.index.get(number)?).ok()?;
        (row < self.rows).then_some(row)
    }
}
