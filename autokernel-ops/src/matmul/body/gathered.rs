//! What an index that picks rows of the first factor asks for: `dot(x[rows], w.t())`.

use autokernel_core::Role;

use super::written::Written;
use crate::body::check::Checker;
use crate::body::{Kind, Operand, Place};

/// Every mistake in what `written` gathers.
pub fn check(checker: &mut Checker<'_>, written: &Written) {
    let Some(rows) = &written.product.rows else { return };
    let (a, operands) = (&written.product.a, &written.body.operands);
    let found = |name: &str| operands.iter().enumerate().find(|(_, operand)| operand.name == name);
    let place = |name: &str| found(name).map_or(Place::Function, |(at, _)| Place::Operand(at));
    if !matches!(found(rows), Some((_, Operand { kind: Kind::Index, role: Role::Input, .. }))) {
        let message = format!("what picks rows of `{a}` is an index that is read: `{rows}: &Index`");
        return checker.complain(place(rows), message);
    }
    let before = format!("gather in `#[autokernel::rows]`, `gathered = {a}[{rows}];`, before this kernel");
    if found(a).is_some_and(|(_, operand)| operand.batched) {
        let message =
            format!("`{rows}` picks rows of one matrix, and `{a}` is a `Batch`; write a `Matrix`, or {before}");
        checker.complain(place(a), message);
    }
    let is_reduced = |it: &&Operand| it.role == Role::Output && matches!(it.kind, Kind::Column | Kind::DeviceScalar);
    let beside = [
        (operands.iter().any(|it| is_reduced(&it)), "rows of the result are reduced"),
        (written.partners().is_some(), "elements see partners"),
        (written.made().is_some(), "the kernel makes scales"),
        (written.all_scales().next().is_some(), "factors have scales along K"),
    ];
    for (_, what) in beside.iter().filter(|(is_there, _)| *is_there) {
        checker.complain(place(rows), format!("no rows are gathered where {what}; {before}"));
    }
}
