//! Journals and configs with whatever a disk, an editor or another program may have made of them.
//!
//! `AUTOKERNEL_FUZZ` says how many are tried; `cargo xtask soak` tries a million.

mod configs;
mod journals;
mod mutate;
mod watchdog;

/// Mutants of each kind in every run of the tests.
const FEW: u64 = 10_000;

fn mutants() -> u64 {
    std::env::var("AUTOKERNEL_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(FEW)
}
