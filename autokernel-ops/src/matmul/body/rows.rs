//! Which steps of a body compute an element, and which what one number a row is made of: the reductions of a row are known behind
//! its last column, when its elements are written.

use std::collections::BTreeSet;

use super::joined::{Join, joins};
use crate::body::{Body, Kind, Step};

/// Whether a step writes one number a row, or what these come to.
pub fn writes_rows(body: &Body, step: &Step) -> bool {
    let is_of_rows = |kind| matches!(kind, Kind::Column | Kind::DeviceScalar);
    matches!(step, Step::Store { output, .. } if body.operand(output).is_some_and(|it| is_of_rows(it.kind)))
}

/// The steps of an element: what matrices are made of, and the terms of reductions; of a sum that is relative to a maximum the
/// element that this one is of.
pub fn of_elements(body: &Body) -> Vec<&Step> {
    needed(body, |step| {
        matches!(step, Step::Reduce { .. }) || matches!(step, Step::Store { .. }) && !writes_rows(body, step)
    })
}

/// The steps of a row behind its reductions.
pub fn of_rows(body: &Body) -> Vec<&Step> {
    let steps = needed(body, |step| writes_rows(body, step));
    steps.into_iter().filter(|step| !matches!(step, Step::Reduce { .. })).collect()
}

/// The steps that compute those names, of one element.
pub fn of_names<'b>(body: &'b Body, wanted: &[&str]) -> Vec<&'b Step> {
    needed(body, |step| matches!(step, Step::Let { name, .. } if wanted.contains(&name.as_str())))
}

/// Those that `is_wanted`, and what they need but of the terms of a reduction, in order.
fn needed(body: &Body, is_wanted: impl Fn(&Step) -> bool) -> Vec<&Step> {
    let joins = joins(body);
    let of_maximum = |step: &Step| joins.iter().find(|join| join.sum == step.name()).map(|Join { of, .. }| *of);
    let mut names = BTreeSet::new();
    let mut found = Vec::new();
    for step in body.steps.iter().rev() {
        let (is_wanted, is_store) = (is_wanted(step), matches!(step, Step::Store { .. }));
        if !is_wanted && (is_store || !names.contains(step.name())) {
            continue;
        }
        if is_wanted || !matches!(step, Step::Reduce { .. }) {
            names.extend(of_maximum(step).unwrap_or(step.expr()).variables());
        }
        found.push(step);
    }
    found.reverse();
    found
}
