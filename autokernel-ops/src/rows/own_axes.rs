//! Which operands have axes that no other operand shares.

/// Operands that have axes of their own, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnAxes {
    /// Those whose rows indices pick.
    pub rows: Vec<u8>,
    /// Those whose columns repeat.
    pub columns: Vec<u8>,
}
