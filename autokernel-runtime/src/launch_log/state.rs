//! Whether launches are recorded.

use std::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// Known from the first launch on.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether launches are recorded, or nothing is known yet.
#[inline]
pub(super) fn may_record() -> bool {
    STATE.load(Ordering::Relaxed) != OFF
}

/// Whether launches are recorded.
pub(super) fn records() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// Records from now on, or nothing further.
pub(super) fn set(on: bool) {
    STATE.store(if on { ON } else { OFF }, Ordering::Relaxed);
}
