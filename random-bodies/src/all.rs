//! Every body, on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

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
/// Some failed; the message has them all, in the order of their seeds.
pub fn check_all(what: &str, one: impl Fn(&Body) -> Result<Checked, String> + Sync) {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(body) = BODIES.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = one(body);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((body.seed, result));
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(seed, _)| *seed);
    let mut all = Checked::default();
    let mut failures = Vec::new();
    for (_, result) in results {
        match result {
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
