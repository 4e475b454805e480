//! Every body, on all cores.

use gpu_tests::settings;
use rayon::prelude::*;

use crate::{BODIES, Body, Checked};

/// Of all elements, so many at most may have an interval that says nothing of them.
const MOST_UNTOLD: f64 = 0.25;

/// Shapes of each body, unless `AUTOKERNEL_CASES` says how many.
pub fn cases(default: u64) -> u64 {
    settings::number("AUTOKERNEL_CASES", default)
}

/// The bodies of this process: a driver may compile one image at a time.
fn bodies() -> Vec<&'static Body> {
    let numbered = (0..).zip(BODIES.iter());
    numbered.filter(|(number, _)| settings::is_of_this_process(*number)).map(|(_, body)| body).collect()
}

/// Checks every body by `one`, and prints what was told of their elements.
///
/// # Panics
/// Some failed; the message has them all, in the order of their seeds.
pub fn check_all(what: &str, one: impl Fn(&Body) -> Result<Checked, String> + Sync) {
    let bodies = bodies();
    let results: Vec<_> = bodies.par_iter().map(|body| one(body)).collect();
    let mut all = Checked::default();
    let mut failures = Vec::new();
    for result in results {
        match result {
            Ok(checked) => all = all.and(checked),
            Err(report) => failures.push(report),
        }
    }
    let Checked { problems, told } = all;
    println!("{what}: {} bodies, {problems} problems, {told}", bodies.len());
    assert!(failures.is_empty(), "{} of {} bodies:\n\n{}", failures.len(), bodies.len(), failures.join("\n\n"));
    // Of a few bodies the share is theirs.
    assert!(bodies.len() < 20 || told.untold_share() < MOST_UNTOLD, "too little is said: {told}");
}
