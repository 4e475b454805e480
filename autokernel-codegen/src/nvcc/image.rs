//! What nvcc makes of a kernel.

use std::path::PathBuf;

use super::report::PtxasReport;

/// A compiled kernel, for one arch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// PTX, which the driver can compile for later GPUs too.
    pub ptx: PathBuf,
    /// Machine code for exactly the arch.
    pub cubin: PathBuf,
    /// The kernel's resources.
    pub report: PtxasReport,
    /// Whether the image was there already, so that nvcc did not run.
    pub cached: bool,
}
