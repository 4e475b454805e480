//! What the hardware would allow: the roofline model.
//!
//! S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
//! Architectures", Communications of the ACM 52(4), 2009: attainable rate = min(peak rate, bandwidth × intensity),
//! where intensity is FLOP per byte of device memory traffic.

use crate::{ComputeCapability, Datasheet, DeviceInfo, Dtype};

/// The two ceilings of a chip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roofline {
    /// Peak rate of dense 16-bit matrix products with `f32` sums, in 10¹² FLOP/s.
    pub peak_tflops: f64,
    /// Device memory bandwidth, in 10⁹ bytes/s.
    pub bandwidth_gb_s: f64,
}

/// What a computation costs at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes of device memory traffic, each input read once and each output written once.
    pub bytes: f64,
}

/// Which ceiling a computation meets first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Arithmetic.
    Compute,
    /// Device memory.
    Memory,
}

impl Work {
    /// Arithmetic intensity: FLOP per byte. 0 for no work at all.
    pub fn intensity(&self) -> f64 {
        if self.bytes == 0.0 { 0.0 } else { self.flops / self.bytes }
    }

    /// The rate if it took that long, in 10¹² FLOP/s.
    pub fn tflops(&self, ms: f64) -> f64 {
        self.flops / (ms * 1e9)
    }

    /// The memory traffic if it took that long, in 10⁹ bytes/s.
    pub fn gb_s(&self, ms: f64) -> f64 {
        self.bytes / (ms * 1e6)
    }
}

impl Roofline {
    /// The intensity at which both ceilings meet, in FLOP per byte.
    pub fn ridge(&self) -> f64 {
        self.peak_tflops * 1e12 / (self.bandwidth_gb_s * 1e9)
    }

    /// The highest rate at that intensity, in 10¹² FLOP/s.
    pub fn attainable_tflops(&self, intensity: f64) -> f64 {
        self.peak_tflops.min(intensity * self.bandwidth_gb_s * 1e9 / 1e12)
    }

    /// Which ceiling limits that work.
    pub fn bound(&self, work: &Work) -> Bound {
        if work.intensity() < self.ridge() { Bound::Memory } else { Bound::Compute }
    }

    /// The shortest time that work can take, in milliseconds: the larger of arithmetic and traffic.
    pub fn floor_ms(&self, work: &Work) -> f64 {
        let compute = work.flops / (self.peak_tflops * 1e9);
        let memory = work.bytes / (self.bandwidth_gb_s * 1e6);
        compute.max(memory)
    }

    /// How much of the attainable rate a time is, in percent: 100 is the roofline.
    pub fn percent(&self, work: &Work, ms: f64) -> f64 {
        100.0 * self.floor_ms(work) / ms
    }

    /// The ceilings of a GPU: its datasheet's, or else computed from what the driver says of it.
    ///
    /// Computed ceilings use the highest clocks, which a chip under load does not hold. `None` for a GPU whose tensor
    /// cores are not known here.
    pub fn of(info: &DeviceInfo) -> Option<Self> {
        Self::from_datasheet(&info.name).or_else(|| Self::from_clocks(info))
    }

    /// The ceilings in NVIDIA's datasheet for a GPU of that name; dense, without sparsity.
    ///
    /// See [`Datasheet`] for the GPUs that are known and where their figures are from.
    pub fn from_datasheet(name: &str) -> Option<Self> {
        Datasheet::of_driver_name(name)?.roofline(Dtype::F16)
    }

    /// Multiprocessors × FLOP a clock × highest clock, and the bandwidth on paper.
    pub fn from_clocks(info: &DeviceInfo) -> Option<Self> {
        let per_clock = tensor_flops_per_clock(info.compute_capability)?;
        let peak = f64::from(info.sm_count) * per_clock * info.max_sm_clock_mhz * 1e6;
        let bandwidth_gb_s = info.theoretical_bandwidth_gb_s();
        // Some drivers, such as those of integrated GPUs, report no clocks.
        (peak > 0.0 && bandwidth_gb_s > 0.0).then_some(Self { peak_tflops: peak / 1e12, bandwidth_gb_s })
    }
}

/// Dense 16-bit FLOP with `f32` sums, of one multiprocessor in one clock. GeForce rates where boards differ:
/// professional boards of 8.6 and 8.9 reach twice as much.
fn tensor_flops_per_clock(capability: ComputeCapability) -> Option<f64> {
    match (capability.major, capability.minor) {
        (8, 0) => Some(2048.0),
        (8, 6 | 9) | (12, _) => Some(512.0),
        (9, 0) => Some(4096.0),
        (10, _) => Some(8192.0),
        _ => None,
    }
}

impl Datasheet {
    /// The two ceilings for inputs of that type; `None` if the tensor cores do not take them.
    pub fn roofline(&self, input: Dtype) -> Option<Roofline> {
        Some(Roofline { peak_tflops: self.peak.of(input)?, bandwidth_gb_s: self.bandwidth_gb_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, matmul};

    const A100: Roofline = Roofline { peak_tflops: 312.0, bandwidth_gb_s: 1935.0 };

    #[test]
    fn a_large_square_product_is_bound_by_arithmetic_at_the_peak() {
        let work = matmul::work(&matmul::extents(4096, 4096, 4096), Dtype::Bf16, Dtype::Bf16);
        // n/3 FLOP a byte for a square product of 2-byte elements.
        assert!((work.intensity() - 4096.0 / 3.0).abs() < 1e-9);
        assert_eq!(A100.bound(&work), Bound::Compute);
        assert_eq!(A100.attainable_tflops(work.intensity()), 312.0);
        assert!((A100.floor_ms(&work) - 0.440_509).abs() < 1e-6);
    }

    #[test]
    fn one_row_is_bound_by_memory() {
        let work = matmul::work(&matmul::extents(1, 4096, 4096), Dtype::Bf16, Dtype::Bf16);
        assert_eq!(A100.bound(&work), Bound::Memory);
        let floor_ms = A100.floor_ms(&work);
        assert!((work.gb_s(floor_ms) - 1935.0).abs() < 1e-6);
        assert!((A100.percent(&work, 2.0 * floor_ms) - 50.0).abs() < 1e-9);
        assert!((work.tflops(floor_ms) - A100.attainable_tflops(work.intensity())).abs() < 1e-9);
    }

    #[test]
    fn both_ceilings_meet_at_the_ridge() {
        let ridge = A100.ridge();
        assert!((ridge - 161.24).abs() < 0.01);
        assert!((A100.attainable_tflops(ridge) - 312.0).abs() < 1e-9);
    }

    #[test]
    fn a_wide_output_type_adds_traffic() {
        let narrow = matmul::work(&matmul::extents(8, 8, 8), Dtype::F16, Dtype::F16);
        let wide = matmul::work(&matmul::extents(8, 8, 8), Dtype::F16, Dtype::F32);
        assert_eq!((narrow.bytes, wide.bytes), (384.0, 512.0));
    }

    #[test]
    fn no_work_has_no_intensity() {
        assert_eq!(matmul::work(&matmul::extents(0, 0, 0), Dtype::F16, Dtype::F16).intensity(), 0.0);
    }

    #[test]
    fn datasheets_are_found_by_the_drivers_names() {
        let peak = |name| Roofline::from_datasheet(name).map(|roofline| roofline.peak_tflops);
        assert_eq!(peak("NVIDIA H200"), Some(989.4));
        assert_eq!(peak("NVIDIA A100-SXM4-80GB"), Some(312.0));
        assert_eq!(peak("NVIDIA GeForce RTX 4090"), Some(165.2));
        assert_eq!(peak("Quadro K2000"), None);
    }
}
