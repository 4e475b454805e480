//! How many elements the result has, in `struct Body`.

use crate::expr::Axis;

/// How many elements the result has along an axis, in fp32.
pub(super) fn extent(axis: Axis) -> String {
    let extent = if axis == Axis::Row { "m" } else { "n" };
    format!("const float {} = static_cast<float>(args.{extent});", axis.count_name())
}
