//! A row of the table of GPUs.

use super::peak::Peak;
use crate::{ComputeCapability, Multiprocessor};

/// A GPU as its datasheet describes it. Rates are dense: without sparsity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datasheet {
    /// The name that people type: `h100-pcie`.
    pub key: &'static str,
    /// The name that the driver gives.
    pub name: &'static str,
    /// The compute capability.
    pub capability: ComputeCapability,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// The SM clock behind the peak rates, in MHz. Chips idle below it and some boost above it.
    pub clock_mhz: f64,
    /// Device memory bandwidth, in 10⁹ bytes/s.
    pub bandwidth_gb_s: f64,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// What one multiprocessor has.
    pub sm: Multiprocessor,
    /// Peak rates of the tensor cores.
    pub peak: Peak,
    /// Where the figures are from.
    pub source: &'static str,
}
