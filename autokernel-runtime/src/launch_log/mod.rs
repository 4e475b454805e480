//! The launch log: which problems a program computes, for the tuner to tune.
//!
//! With `AUTOKERNEL_RECORD=shapes.jsonl` in the environment, each [`Kernel`](crate::Kernel) launch is counted by
//! kernel, extents, GPU architecture and chosen entry. Without it a launch pays one relaxed load.
//!
//! Each thread counts in a map of its own ([`counts`]), so that threads do not wait for each other. A background
//! thread appends what is new once a second, and an exit handler the rest ([`writer`]): a process that is killed
//! loses at most its last second. Lines of one file add up, whoever wrote them and when.

mod counts;
mod line;
mod served;
mod state;
mod writer;

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Extents, KernelDescriptor};

pub(crate) use served::Served;

/// Tells kernels apart: a kernel outside a `static` may be dropped and another take its address.
#[derive(Debug)]
pub(crate) struct KernelId(AtomicU32);

impl KernelId {
    /// An identity that is given at the first recorded launch.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    fn get(&self) -> u32 {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        match self.0.load(Ordering::Relaxed) {
            0 => {
                let new = NEXT.fetch_add(1, Ordering::Relaxed);
                match self.0.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => new,
                    Err(other) => other,
                }
            }
            known => known,
        }
    }
}

/// Counts a launch that was made, if launches are recorded.
#[inline]
pub(crate) fn count(id: &KernelId, kernel: &KernelDescriptor, extents: &Extents, served: Served) {
    if state::may_record() {
        count_recorded(id, kernel, extents, served);
    }
}

#[cold]
fn count_recorded(id: &KernelId, kernel: &KernelDescriptor, extents: &Extents, served: Served) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| state::set(writer::start()));
    // An empty problem is not worth tuning.
    if state::records() && extents.sizes().all(|size| size > 0) {
        counts::add(counts::Key { kernel: id.get(), extents: *extents, served }, kernel);
    }
}
