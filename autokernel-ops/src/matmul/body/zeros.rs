//! What zero points of groups ask for: `dot(x, ((w - zeros) * scales).t())`.

use autokernel_core::Role;

use super::scales;
use super::written::Written;
use crate::body::check::Checker;
use crate::body::{Kind, Operand, Place};
use crate::weights::ZERO;

/// Every mistake in what `written` subtracts from its weights.
pub fn check(checker: &mut Checker<'_>, written: &Written) {
    let operands = &written.body.operands;
    let zeros: Vec<&str> = written.zeros().collect();
    let weights: Vec<&str> = written.factors().skip(1).collect();
    if zeros.is_empty() {
        return;
    }
    let is_of_blocks = written.product.a_scales.is_some();
    if is_of_blocks {
        let message =
            "zero points are of weights of whole numbers, and blocks that have scales are of floats; leave them out";
        return checker.complain(Place::Function, message);
    }
    if zeros.len() + 1 != written.factors().count() {
        checker.complain(Place::Function, "the second factors of both products have zero points, or neither has");
    }
    for (number, name) in zeros.iter().enumerate() {
        let found = operands.iter().enumerate().find(|(_, operand)| operand.name == *name);
        let Some((at, Operand { kind: Kind::Matrix, role: Role::Input, dtype: ZERO, .. })) = found else {
            let place = found.map_or(Place::Function, |(at, _)| Place::Operand(at));
            let message =
                format!("zero points of groups are a matrix that is read, `[k / group, n]`: `{name}: &Matrix<{ZERO}>`");
            checker.complain(place, message);
            continue;
        };
        if let Some(weights) = weights.get(number) {
            scales::as_many_as_factor(checker, written, (name, at), weights);
        }
        let is_twice =
            written.factors().chain(written.scales()).any(|other| other == *name) || zeros[..number].contains(name);
        if is_twice {
            let message = format!("`{name}` has one place in a kernel; pass it twice, under two names");
            checker.complain(Place::Operand(at), message);
        }
    }
}
