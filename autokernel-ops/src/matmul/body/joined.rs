//! Which sums of a body's rows are of exponentials relative to a maximum of the same elements: `row_sum((y - row_max(y)).exp())`.
//!
//! Each part of a row takes its sum relative to its own maximum, and joining parts moves the sums to the greatest one
//! (`body_joined.cuh`), so that the sum needs no maximum that is known before it. What is found is found by what is computed, not by
//! names.

use std::collections::BTreeSet;

use super::behind::behind_reductions;
use crate::body::{Body, Reduction, Step};
use crate::expr::{Expr, Named};

/// A sum of exponentials relative to a maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Join<'b> {
    /// The name of the sum, or the mean.
    pub sum: &'b str,
    /// That of the maximum.
    pub maximum: &'b str,
    /// What that is the maximum of.
    pub of: &'b Expr,
}

impl Join<'_> {
    /// A term of the sum, in which the name of the maximum stands for an element that it is the maximum of, and `maximum` for the
    /// maximum.
    pub fn term(&self, maximum: &str) -> Expr {
        let variable = |name: &str| Expr::Variable(name.to_owned());
        variable(self.maximum).exponential_relative_to(&variable(maximum))
    }
}

/// All of them, in order.
pub fn joins<'b>(body: &'b Body) -> Vec<Join<'b>> {
    let values = body.steps.iter().filter_map(|step| match step {
        Step::Let { name, value } => Some((name.clone(), value)),
        Step::Reduce { .. } | Step::Store { .. } => None,
    });
    let named = Named::new(values);
    // A maximum of what stands behind a reduction is late itself, and nothing may be relative to it.
    let behind = behind_reductions(body);
    let is_late = |of: &Expr| of.variables().iter().any(|name| behind.contains(name));
    let maximum_of = |before: &'b [Step], term: &Expr| {
        before.iter().find_map(|step| match step {
            Step::Reduce { name, reduction: Reduction::Max, of } if !is_late(of) => {
                let expected = of.exponential_relative_to(&Expr::Variable(name.clone()));
                named.are_same(term, &expected).then_some((name, of))
            }
            _ => None,
        })
    };
    let join = |(at, step): (usize, &'b Step)| match step {
        Step::Reduce { name: sum, reduction: Reduction::Sum | Reduction::Mean, of: term } => {
            let (maximum, of) = maximum_of(&body.steps[..at], term)?;
            Some(Join { sum, maximum, of })
        }
        _ => None,
    };
    body.steps.iter().enumerate().filter_map(join).collect()
}

/// The names of what such sums are made of.
pub fn names_of_terms<'b>(body: &'b Body, joins: &[Join<'_>]) -> BTreeSet<&'b str> {
    let mut names = BTreeSet::new();
    for step in body.steps.iter().rev() {
        let is_joined = joins.iter().any(|join| join.sum == step.name());
        if is_joined || matches!(step, Step::Let { .. }) && names.contains(step.name()) {
            names.extend(step.expr().variables());
        }
    }
    names
}
