//! How the elements of an operand lie, by its kind.

use autokernel_ops::rows::Kind;

use crate::operands::layout::Layout;

/// The rows of an operand of that kind.
pub(super) const fn rows(layout: Layout, kind: Kind) -> usize {
    if matches!(kind, Kind::Matrix) { layout.rows } else { layout.columns }
}

/// Its elements in a row.
pub(super) const fn width(kind: Kind, columns: usize) -> usize {
    if matches!(kind, Kind::Matrix | Kind::Row) { columns } else { 1 }
}

/// Elements from a row to the next. Without elements a layout has any stride.
pub(super) fn ld(layout: Layout, kind: Kind) -> usize {
    match kind {
        Kind::Matrix if layout.is_empty() => 0,
        Kind::Matrix => layout.ld,
        _ => 1,
    }
}
