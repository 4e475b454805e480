//! The GPU that schedules are chosen for.

use std::fmt;

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::model::Machine;
use autokernel_core::ComputeCapability;
use autokernel_runtime::roofline::Roofline;
use autokernel_runtime::{Datasheet, Target};
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
    /// Ceiling of the matrix units for dense 16-bit products, in TFLOP/s; 0 where it is not known.
    pub matrix_tflops: f64,
}

const HOPPER: ComputeCapability = ComputeCapability::new(9, 0);

/// A figure that no GPU has: rooflines divide by some, and schedules are counted by the others.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} of the GPU is {given:e}; it is from {least:e} to {most:e}")]
pub struct NoGpu {
    what: &'static str,
    given: f64,
    least: f64,
    most: f64,
}

impl GpuFacts {
    /// Refuses figures that no GPU has.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self) -> Result<(), NoGpu> {
        let figures = [
            ("sm_count", f64::from(self.sm_count), 1.0, 1e5),
            ("shared_bytes_per_block", f64::from(self.shared_bytes_per_block), 1.0, 1e9),
            ("shared_bytes_per_sm", f64::from(self.shared_bytes_per_sm), 1.0, 1e9),
            ("registers_per_sm", f64::from(self.registers_per_sm), 1.0, 1e9),
            ("l2_bytes", self.l2_bytes as f64, 0.0, 1e15),
            // Both 0 where neither a data sheet nor clocks tell them.
            ("memory_gb_per_s", self.memory_gb_per_s, 0.0, 1e8),
            ("matrix_tflops", self.matrix_tflops, 0.0, 1e8),
        ];
        let strange = figures.into_iter().find(|(_, given, least, most)| !(least..=most).contains(&given));
        strange.map_or(Ok(()), |(what, given, least, most)| Err(NoGpu { what, given, least, most }))
    }

    /// The two ceilings for inputs of that type; `None` where they are not known.
    pub fn roofline(&self, input: Option<Dtype>) -> Option<Roofline> {
        let of_sheet = input.and_then(|input| Datasheet::of_driver_name(&self.name)?.peak.of(input));
        let roof =
            Roofline { peak_tflops: of_sheet.unwrap_or(self.matrix_tflops), bandwidth_gb_s: self.memory_gb_per_s };
        (roof.peak_tflops > 0.0 && roof.bandwidth_gb_s > 0.0).then_some(roof)
    }

    /// The GPU as the model sees it that predicts what multiplies `input`; none for what multiplies nothing. As a launch sees it: one that
    /// no datasheet describes is taken for a Hopper.
    pub fn machine(&self, input: Option<Dtype>) -> Machine {
        self.as_target().machine(input)
    }

    /// Whether it is the GPU that the driver calls `name`.
    pub fn is_called(&self, name: &str) -> bool {
        self.as_target().is_called(name)
    }

    fn as_target(&self) -> Target {
        Target {
            name: self.name.clone(),
            capability: Datasheet::find(&self.name).map_or(HOPPER, |sheet| sheet.capability),
            shared_bytes: self.shared_bytes_per_block,
            sm_count: self.sm_count,
            memory_gb_per_s: self.memory_gb_per_s,
            matrix_tflops: self.matrix_tflops,
        }
    }
}

impl fmt::Display for GpuFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GpuFacts { name, sm_count, shared_bytes_per_block, shared_bytes_per_sm, registers_per_sm, .. } = self;
        writeln!(f, "- {name}: {sm_count} SMs")?;
        writeln!(f, "- shared memory: {shared_bytes_per_block} bytes a block, {shared_bytes_per_sm} bytes an SM")?;
        writeln!(f, "- registers: {registers_per_sm} of 32 bits an SM, 255 a thread at most")?;
        writeln!(f, "- L2 cache: {:.0} MiB", self.l2_bytes as f64 / f64::from(1 << 20))?;
        match self.memory_gb_per_s {
            known if known > 0.0 => writeln!(f, "- memory bandwidth: {known:.0} GB/s")?,
            _ => writeln!(f, "- memory bandwidth: not known")?,
        }
        match self.matrix_tflops {
            known if known > 0.0 => write!(f, "- matrix units: {known:.0} TFLOP/s"),
            _ => write!(f, "- matrix units: their ceiling is not known"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chosen::tests::H200;

    #[test]
    fn what_a_problem_multiplies_is_multiplied_at_its_own_rate() {
        let gpu: GpuFacts = serde_json::from_str(H200).unwrap();
        let rate = |gpu: &GpuFacts, input| gpu.machine(input).matrix_tflops;
        let of_types = [Some(Dtype::F32), None, Some(Dtype::Bf16), Some(Dtype::E4m3)].map(|input| rate(&gpu, input));
        assert_eq!(of_types, [494.7, 989.4, 989.4, 1978.8]);
        let measured = GpuFacts { matrix_tflops: 800.0, ..gpu.clone() };
        assert_eq!(rate(&measured, Some(Dtype::I8)), 1600.0);
        let unknown = GpuFacts { name: "new".to_owned(), memory_gb_per_s: 0.0, matrix_tflops: 0.0, ..gpu };
        assert!((rate(&unknown, Some(Dtype::F32)) - 494.7).abs() < 1e-9);
        assert_eq!(unknown.machine(None).memory_gb_per_s, 3350.0, "an H100's");
    }
}
