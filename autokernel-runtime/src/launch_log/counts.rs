//! Launches that were made and not yet written, counted by each thread for itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::line::Launch;
use super::served::Served;
use crate::{Extents, KernelDescriptor};

/// What tells launches apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Of [`super::KernelId`].
    pub kernel: u32,
    pub extents: Extents,
    pub served: Served,
}

/// What was launched, and how often.
pub(super) type Counts = HashMap<Key, (Launch, u64)>;

/// The counts of one thread. Only that thread and, once a second, the writer lock it.
type Shard = Arc<Mutex<Counts>>;

/// Of every thread that has launched; an entry is removed once its thread has ended and its counts are taken.
static SHARDS: Mutex<Vec<Shard>> = Mutex::new(Vec::new());

thread_local! {
    static SHARD: Shard = register();
}

fn register() -> Shard {
    let shard = Shard::default();
    SHARDS.lock().unwrap_or_else(PoisonError::into_inner).push(shard.clone());
    shard
}

/// Counts a launch. One that a thread makes while its thread-locals are destroyed is lost.
pub(super) fn add(key: Key, kernel: &KernelDescriptor) {
    let _ = SHARD.try_with(|shard| {
        let mut counts = shard.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(key).or_insert_with(|| (Launch::new(kernel, key.extents, key.served), 0)).1 += 1;
    });
}

/// Takes the counts of all threads, summed.
pub(super) fn take() -> Counts {
    let mut sum = Counts::new();
    SHARDS.lock().unwrap_or_else(PoisonError::into_inner).retain(|shard| {
        // Read first: a thread that ends in between has counted everything, and goes with the next call.
        let thread_lives = Arc::strong_count(shard) > 1;
        let counts = std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
        for (key, (launch, count)) in counts {
            sum.entry(key).or_insert((launch, 0)).1 += count;
        }
        thread_lives
    });
    sum
}
