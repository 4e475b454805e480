//! A deadline for each mutant.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long one may take; it takes microseconds.
const DEADLINE: Duration = Duration::from_secs(20);

/// Does `each` for each of `seeds`. One that does not end ends the process, with its seed.
pub fn each(seeds: Range<u64>, mut each: impl FnMut(u64)) {
    let at = Arc::new(AtomicU64::new(0));
    let watched = Arc::clone(&at);
    std::thread::spawn(move || {
        let mut last = u64::MAX;
        // Ends with the test, which drops its own count.
        while Arc::strong_count(&watched) > 1 {
            let now = watched.load(Ordering::Relaxed);
            if now == last {
                errln!("seed {now} did not end within {} s", DEADLINE.as_secs());
                std::process::abort();
            }
            last = now;
            for _ in 0..DEADLINE.as_secs() {
                if Arc::strong_count(&watched) == 1 {
                    return;
                }
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    });
    for seed in seeds {
        at.store(seed, Ordering::Relaxed);
        each(seed);
    }
}
