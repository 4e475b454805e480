//! A fresh seed for the inputs of every check.

use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds derived from one seed of the run and a counter. Each is journaled with what was checked on it.
#[derive(Debug)]
pub struct Seeds {
    run: u64,
    next: AtomicU64,
}

impl Seeds {
    /// Seeds of a run that nobody has to foresee: a kernel that is right only on data it was tuned on is found out.
    pub fn random() -> Self {
        Seeds::of_run(rand::random())
    }

    /// The seeds of the run `run`, always the same.
    pub const fn of_run(run: u64) -> Self {
        Seeds { run, next: AtomicU64::new(0) }
    }

    /// The next seed, below 2⁵³ so that every reader of JSON reads it exactly.
    pub fn next(&self) -> u64 {
        seed(self.run, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014) over the run and the counter.
fn seed(run: u64, counter: u64) -> u64 {
    let mut x = run.wrapping_add(counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) >> 11
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_check_has_its_own_seed_and_the_same_run_has_the_same_seeds() {
        let draw = |seeds: Seeds| (0..1000).map(|_| seeds.next()).collect::<Vec<_>>();
        let first = draw(Seeds::of_run(7));
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), first.len());
        assert_eq!(first, draw(Seeds::of_run(7)));
        assert_ne!(first, draw(Seeds::of_run(8)));
        assert!(first.iter().all(|seed| *seed < 1 << 53));
    }
}
