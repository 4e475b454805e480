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
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
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
    println!("{what}: {} bodies, {problems} problems, {told}", bodies.len());
    assert!(failures.is_empty(), "{} of {} bodies:\n\n{}", failures.len(), bodies.len(), failures.join("\n\n"));
    // Of a few bodies the share is theirs.
    assert!(bodies.len() < 20 || told.untold_share() < MOST_UNTOLD, "too little is said: {told}");
}
