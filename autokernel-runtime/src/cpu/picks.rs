//! What is read and written elsewhere than in its row and column.

pub use autokernel_ops::body::Columns;

/// What is read, or written, elsewhere, by the numbers of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// What is read or written.
    pub operand: usize,
    /// The index that picks its rows, if one does.
    pub index: Option<usize>,
    /// Which of its columns.
    pub columns: Columns,
}

impl Pick {
    /// Whether the operand has as many rows as it likes.
    pub const fn has_own_rows(&self) -> bool {
        self.index.is_some()
    }

    /// Whether the operand has as many columns as it likes.
    pub const fn has_own_columns(&self) -> bool {
        matches!(self.columns, Columns::Repeat)
    }
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
