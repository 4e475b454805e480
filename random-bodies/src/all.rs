//! Every body in turn.

use gpu_tests::settings;

use crate::{BODIES, Body, Checked};

/// Of all elements, so many at most may have an interval that says nothing of them.
const MOST_UNTOLD: f64 = 0.25;

/// Shapes of each body, unless `AUTOKERNEL_CASES` says how many.
pub fn cases(default: u64) -> u64 {
    settings::number("AUTOKERNEL_CASES", default)
}

/// Checks every body by `one`, and prints what was told of their elements.
///
/// # Panics
/// Some failed; the message has them all.
pub fn check_all(what: &str, one: impl Fn(&Body) -> Result<Checked, String>) {
    let mut all = Checked::default();
    let mut failures = Vec::new();
    for body in BODIES {
        match one(body) {
            Ok(checked) => all = all.and(checked),
            Err(report) => failures.push(report),
        }
    }
    let Checked { problems, told } = all;
    println!("{what}: {} bodies, {problems} problems, {told}", BODIES.len());
    assert!(failures.is_empty(), "{} of {} bodies:\n\n{}", failures.len(), BODIES.len(), failures.join("\n\n"));
    // Of a few bodies the share is theirs.
    assert!(BODIES.len() < 20 || told.untold_share() < MOST_UNTOLD, "too little is said: {told}");
}
