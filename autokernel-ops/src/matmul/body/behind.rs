//! What of a body stands behind its reductions: it is known once the last column of a row is.

use std::collections::BTreeSet;

use crate::body::{Body, Step};

/// The names of what depends on a reduction, reductions among them.
pub fn behind_reductions(body: &Body) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for step in &body.steps {
        let depends = || step.expr().variables().iter().any(|name| names.contains(name));
        match step {
            Step::Reduce { name, .. } => names.insert(name.as_str()),
            Step::Let { name, .. } if depends() => names.insert(name.as_str()),
            Step::Let { .. } | Step::Store { .. } => false,
        };
    }
    names
}
