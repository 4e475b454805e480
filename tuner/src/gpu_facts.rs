//! The GPU that schedules are chosen for.

use std::fmt;

use autokernel_codegen::matmul::model::Machine;
use autokernel_core::ComputeCapability;
use autokernel_runtime::Datasheet;
use serde::{Deserialize, Serialize};

/// A GPU, as far as schedules depend on it. Measured figures where they were measured, else the data sheet's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// The name the driver gives: `NVIDIA H200`.
    pub name: String,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Shared memory one block may have, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory of one SM, in bytes.
    pub shared_bytes_per_sm: u32,
    /// 32-bit registers of one SM.
    pub registers_per_sm: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Memory bandwidth, in GB/s (10⁹ bytes a second).
    pub memory_gb_per_s: f64,
    /// Ceiling of the matrix units for the problem's input type, dense, in TFLOP/s.
    pub matrix_tflops: f64,
}

impl GpuFacts {
    /// The same, as the model sees it.
    pub fn machine(&self) -> Machine {
        let &GpuFacts { sm_count, matrix_tflops, memory_gb_per_s, .. } = self;
        // One that no datasheet describes is taken for an H100, as when it launches.
        let capability = Datasheet::find(&self.name).map_or(ComputeCapability::new(9, 0), |sheet| sheet.capability);
        Machine { capability, sm_count, matrix_tflops, memory_gb_per_s }
    }
}

impl fmt::Display for GpuFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GpuFacts { name, sm_count, shared_bytes_per_block, shared_bytes_per_sm, registers_per_sm, .. } = self;
        writeln!(f, "- {name}: {sm_count} SMs")?;
        writeln!(f, "- shared memory: {shared_bytes_per_block} bytes a block, {shared_bytes_per_sm} bytes an SM")?;
        writeln!(f, "- registers: {registers_per_sm} of 32 bits an SM, 255 a thread at most")?;
        writeln!(f, "- L2 cache: {:.0} MiB", self.l2_bytes as f64 / f64::from(1 << 20))?;
        writeln!(f, "- memory bandwidth: {:.0} GB/s", self.memory_gb_per_s)?;
        write!(f, "- matrix units: {:.0} TFLOP/s", self.matrix_tflops)
    }
}
