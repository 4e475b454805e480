//! Work that is spread over the cores of this machine.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;

/// What comes of each job, in their order; the first error where there is one.
pub fn on_every_core<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> Result<T> + Sync) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(number) else { return };
                    let result = work(job);
                    results.lock().expect("no job panics while it holds the list").push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no job panics while it holds the list");
    results.sort_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}
