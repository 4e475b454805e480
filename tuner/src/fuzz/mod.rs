//! Journals, configs, results and recordings with whatever a disk, an editor or another program may have made of them.
//!
//! `AUTOKERNEL_FUZZ` says how many are tried; `cargo xtask soak` tries a million.

mod configs;
mod journals;
mod mutate;
mod recordings;
mod results;
mod watchdog;

use std::ops::Range;

/// Mutants of each kind in every run of the tests.
const FEW: u64 = 10_000;

/// The seeds of the mutants; `AUTOKERNEL_SEED` is one that is to be tried again.
fn seeds() -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    match number("AUTOKERNEL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("AUTOKERNEL_FUZZ").unwrap_or(FEW),
    }
}
