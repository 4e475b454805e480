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

/// The bodies of this process: every `AUTOKERNEL_PROCESSES`th from number `AUTOKERNEL_PROCESS` on, as a driver may
/// compile one image at a time.
fn bodies() -> Vec<&'static Body> {
    let [processes, process] = [("AUTOKERNEL_PROCESSES", 1), ("AUTOKERNEL_PROCESS", 0)]
        .map(|(name, default)| usize::try_from(settings::number(name, default)).expect("a few"));
    BODIES.iter().skip(process).step_by(processes.max(1)).collect()
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
