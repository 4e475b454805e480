//! A GPU as a choice sees it.

use crate::{ComputeCapability, Datasheet};

/// What decides whether a variant runs on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The GPU's compute capability.
    pub capability: ComputeCapability,
    /// The most dynamic shared memory a block may use, in bytes.
    pub shared_bytes: u32,
    /// The key of its datasheet, which the model reads; none for a GPU without one.
    pub sheet: Option<&'static str>,
}

impl Target {
    /// Whether it is the GPU that the driver calls `name`.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.sheet.is_some() && self.sheet == Datasheet::of_driver_name(name).map(|sheet| sheet.key)
    }
}
