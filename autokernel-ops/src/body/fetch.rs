//! Elements that stand elsewhere than the one that a body writes.

use serde::{Deserialize, Serialize};

/// A value of each element: that of an operand in another row or column, or of a product's body of another column of what it computes.
/// Where there is no such element it is no number: a NaN shows what is wrong with an index, and nothing outside of the operand is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// Unique in its body, operands included.
    pub name: String,
    /// The operand, or where a product's body rotates the value.
    pub of: String,
    /// The index that picks the row, as in `table[ids]`; none for the same row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// The column.
    #[serde(default, skip_serializing_if = "Columns::are_same")]
    pub columns: Columns,
}

/// Which column of an operand stands for one of the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Columns {
    /// The same.
    #[default]
    Same,
    /// `rotate_half(x, head)`: of as many columns as a head has the first half takes the second, negated, and the second the first.
    RotateHalf(u32),
    /// `rotate_pairs(x)`: of a pair of neighbours the first takes the second, negated, and the second the first.
    RotatePairs,
    /// `repeat_columns(table)`: those of the operand, which are as many as it likes, over and over.
    Repeat,
}

impl Columns {
    /// Whether it is the same column.
    pub fn are_same(&self) -> bool {
        *self == Columns::Same
    }

    /// Whether it is the partner of a rotation.
    pub const fn are_partners(&self) -> bool {
        matches!(self, Columns::RotateHalf(_) | Columns::RotatePairs)
    }

    /// The column that stands for `column` of an operand of `own` columns, and whether it is negated; none where there is none.
    pub fn at(self, column: usize, own: usize) -> Option<(usize, bool)> {
        let (column, is_negated) = match self {
            Columns::Same => (column, false),
            Columns::RotateHalf(head) => {
                let (head, half) = (head.max(2) as usize, head.max(2) as usize / 2);
                if column % head < half { (column + half, true) } else { (column - half, false) }
            }
            Columns::RotatePairs => (column ^ 1, column.is_multiple_of(2)),
            Columns::Repeat => (column.checked_rem(own)?, false),
        };
        (column < own).then_some((column, is_negated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(columns: Columns, own: usize) -> Vec<Option<i64>> {
        let signed = |(column, is_negated)| if is_negated { -(column as i64) } else { column as i64 };
        (0..own).map(|column| columns.at(column, own).map(signed)).collect()
    }

    #[test]
    fn both_pairings_turn_what_they_pair_by_a_quarter_and_leave_out_what_has_no_partner() {
        let halves = [-2, -3, 0, 1, -6, -7, 4, 5].map(Some);
        assert_eq!(order(Columns::RotateHalf(4), 8), halves);
        assert_eq!(order(Columns::RotateHalf(4), 6)[4..], [None, None]);
        assert_eq!(order(Columns::RotatePairs, 5), [Some(-1), Some(0), Some(-3), Some(2), None]);
    }

    #[test]
    fn a_table_without_columns_has_none_to_repeat() {
        assert_eq!(Columns::Repeat.at(5, 3), Some((2, false)));
        assert_eq!(Columns::Repeat.at(5, 0), None);
    }
}
