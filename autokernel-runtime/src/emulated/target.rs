//! An emulated GPU as a choice sees it.

use crate::Target;
use crate::emulation::Emulation;

/// What decides which variants of a kernel run on it.
pub(super) fn of(emulation: &Emulation) -> Target {
    let arch = emulation.arch;
    Target { capability: arch.capability, shared_bytes: arch.shared_bytes_per_block(), sheet: None }
}
