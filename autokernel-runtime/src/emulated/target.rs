//! An emulated GPU as a choice sees it.

use crate::Target;
use crate::emulation::Emulation;

/// What decides which variants of a kernel run on it, and which is taken: as on a whole GPU of its generation.
pub(super) fn of(emulation: &Emulation) -> Target {
    let arch = emulation.arch;
    Target { shared_bytes: arch.shared_bytes_per_block(), ..Target::of_capability(arch.capability) }
}
