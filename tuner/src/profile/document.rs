//! All that is known of a kernel at a shape on a GPU.

use serde::Serialize;

use super::emulated::Emulated;
use super::kernel::Kernel;
use super::machine::Machine;
use super::time::Time;
use super::work::WorkProfile;
use crate::target::Target;

/// All that is known of a kernel at a shape on a GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// The version of this document.
    pub version: u32,
    /// What is computed, at which shape, for which arch.
    pub target: Target,
    /// On which GPU.
    pub gpu: Machine,
    /// What it costs at least.
    pub work: WorkProfile,
    /// The kernel; none if the GPU runs none of autokernel's.
    pub kernel: Option<Kernel>,
    /// What it does on an emulated GPU, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulated: Option<Emulated>,
    /// Its time; none if nobody measured it.
    pub time: Option<Time>,
    /// What to try next, the most promising first.
    pub next: Vec<String>,
}
