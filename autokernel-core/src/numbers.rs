//! What operands of whole numbers may hold: a launch does not look, and a checked one does.

use serde::{Deserialize, Serialize};

/// What the whole numbers of an operand may be. Kernels take any other for the nearest that may be, or for none; whoever wrote it
/// meant something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// The operand, by its number.
    pub operand: u8,
    /// What each of them does.
    pub each: Each,
    /// Among how many: the sizes of these axes, multiplied.
    pub among: Vec<Size>,
    /// Which of them count; all, where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// What picks none on purpose.
const NONE: i64 = -1;

/// What may stand for 0 of numbers of 4 bits: one of them, or one more than the largest.
const ZEROS: (i64, i64) = (-8, 8);

/// What a whole number does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// It picks one, and is less than there are; or none, and is -1.
    Picks,
    /// It counts some: it is at most as many.
    Counts,
    /// It says where a part begins, and the last where it ends: it is at least the one before it, and at most as many.
    Bounds,
    /// It stands for 0 of numbers of 4 bits, from which it is subtracted.
    StandsForZero,
}

/// The size of an operand's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// The operand, by its number.
    pub operand: u8,
    /// The axis, from 0, outermost first.
    pub axis: u8,
}

/// Of each row of numbers the first ones count, as another operand says: as many as hold its number for that row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// The operand that has a number for each row.
    pub by: u8,
    /// How much of it one number holds.
    pub each_holds: Size,
}

impl Numbers {
    /// Those of an operand that pick along an axis of another.
    pub fn pick(operand: u8, among: Size) -> Self {
        Numbers { operand, each: Each::Picks, among: vec![among], counted: None }
    }

    /// Those that count along it.
    pub fn count(operand: u8, among: Size) -> Self {
        Numbers { each: Each::Counts, ..Numbers::pick(operand, among) }
    }

    /// Those that bound parts of it.
    pub fn bound(operand: u8, among: Size) -> Self {
        Numbers { each: Each::Bounds, ..Numbers::pick(operand, among) }
    }

    /// Those that stand for 0 of numbers of 4 bits.
    pub const fn zeros(operand: u8) -> Self {
        Numbers { operand, each: Each::StandsForZero, among: Vec::new(), counted: None }
    }
}

impl Each {
    /// The least and the greatest number that may stand behind `before`, among so many.
    pub fn range(self, before: Option<i32>, among: u64) -> (i64, i64) {
        let among = i64::try_from(among).unwrap_or(i64::MAX);
        match self {
            Each::Picks => (NONE, among - 1),
            Each::Counts => (0, among),
            Each::Bounds => (before.map_or(0, i64::from), among),
            Each::StandsForZero => ZEROS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_picks_is_less_than_there_are_or_none_and_what_counts_or_bounds_may_be_as_many() {
        assert_eq!(Each::Picks.range(Some(3), 10), (-1, 9));
        assert_eq!(Each::Picks.range(None, 0), (-1, -1));
        assert_eq!(Each::Counts.range(Some(3), 10), (0, 10));
        assert_eq!(Each::Bounds.range(None, 10), (0, 10));
        assert_eq!(Each::Bounds.range(Some(3), 10), (3, 10));
        assert_eq!(Each::StandsForZero.range(Some(3), 1), (-8, 8));
    }
}
