//! A GPU as a choice sees it.

use autokernel_ops::contender::Machine;

use crate::roofline::Roofline;
use crate::{ComputeCapability, Datasheet, DeviceInfo, Dtype};

/// What decides which variant serves on a GPU: what it runs, and how fast it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The GPU, as the driver names it: `NVIDIA H200`. Entries that were tuned on the same come first.
    pub name: String,
    /// The compute capability.
    pub capability: ComputeCapability,
    /// The most dynamic shared memory a block may use, in bytes.
    pub shared_bytes: u32,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Device memory bandwidth, in 10⁹ bytes/s; 0 where nothing tells it.
    pub memory_gb_per_s: f64,
    /// Dense peak of the matrix units for 16-bit inputs, in 10¹² FLOP/s; 0 where nothing tells it.
    pub matrix_tflops: f64,
}

impl Target {
    /// The GPU that `sheet` describes.
    pub fn of_sheet(sheet: &Datasheet) -> Self {
        Self {
            name: sheet.name.to_owned(),
            capability: sheet.capability,
            shared_bytes: sheet.sm.shared_bytes_per_block,
            sm_count: sheet.sm_count,
            memory_gb_per_s: sheet.bandwidth_gb_s,
            matrix_tflops: sheet.peak.f16_tflops,
        }
    }

    /// A GPU of that compute capability of which nothing else is known: those of the datasheet that stands for it.
    pub fn of_capability(capability: ComputeCapability) -> Self {
        Self { capability, ..Self::of_sheet(Datasheet::like(capability)) }
    }

    /// The GPU of which the driver says `info`: by its datasheet, if there is one, else by its clocks. Of a part of a GPU, as MIG divides
    /// one, the rate is its multiprocessors'.
    pub fn of(info: &DeviceInfo) -> Self {
        let sheet = Datasheet::of_driver_name(&info.name);
        let roofline = Roofline::of(info);
        let part = sheet.map_or(1.0, |sheet| f64::from(info.sm_count) / f64::from(sheet.sm_count));
        Self {
            name: info.name.clone(),
            capability: info.compute_capability,
            shared_bytes: info.shared_bytes_per_block_optin,
            sm_count: info.sm_count,
            memory_gb_per_s: roofline.map_or_else(|| info.theoretical_bandwidth_gb_s(), |it| it.bandwidth_gb_s),
            matrix_tflops: roofline.map_or(0.0, |it| it.peak_tflops * part),
        }
    }

    /// The GPU as the model sees it that predicts what multiplies `input`; none for what multiplies nothing. What is not told is taken
    /// from a GPU of the same generation, in proportion.
    pub fn machine(&self, input: Option<Dtype>) -> Machine {
        let like = self.sheet().unwrap_or_else(|| Datasheet::like(self.capability));
        let or = |told: f64, otherwise: f64| if told > 0.0 { told } else { otherwise };
        let of_like = like.peak.f16_tflops / f64::from(like.sm_count) * f64::from(self.sm_count);
        let over_16_bits = input.and_then(|input| like.peak.of(input)).map_or(1.0, |rate| rate / like.peak.f16_tflops);
        Machine {
            capability: self.capability,
            sm_count: self.sm_count,
            matrix_tflops: or(self.matrix_tflops, of_like) * over_16_bits,
            memory_gb_per_s: or(self.memory_gb_per_s, like.bandwidth_gb_s),
        }
    }

    /// Whether it is the GPU that the driver calls `name`.
    pub fn is_called(&self, name: &str) -> bool {
        let of_sheet = |sheet: &Datasheet| Datasheet::of_driver_name(name).is_some_and(|other| other.key == sheet.key);
        self.name == name || self.sheet().is_some_and(of_sheet)
    }

    fn sheet(&self) -> Option<&'static Datasheet> {
        Datasheet::of_driver_name(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, capability: (u8, u8), sm_count: u32) -> DeviceInfo {
        DeviceInfo {
            name: name.to_owned(),
            compute_capability: ComputeCapability::new(capability.0, capability.1),
            sm_count,
            l2_bytes: 50 << 20,
            shared_bytes_per_block_optin: 232_448,
            max_sm_clock_mhz: 1980.0,
            max_memory_clock_mhz: 2619.0,
            memory_bus_bits: 6144,
            memory_bytes: 96 << 30,
            driver_version: 13000,
        }
    }

    #[test]
    fn a_gpu_with_a_datasheet_is_as_fast_as_that_says() {
        let h200 = Target::of(&named("NVIDIA H200", (9, 0), 132));
        assert_eq!(h200.machine(Some(Dtype::Bf16)), Target::of_sheet(Datasheet::find("h200").unwrap()).machine(None));
        let rates = [Dtype::F32, Dtype::Bf16, Dtype::E4m3].map(|input| h200.machine(Some(input)).matrix_tflops);
        assert_eq!(rates, [494.7, 989.4, 1978.8]);
    }

    #[test]
    fn a_gpu_keeps_its_multiprocessors_and_its_memory_where_a_rate_is_not_known() {
        let a100 = Target::of_sheet(Datasheet::find("a100").unwrap());
        for input in [None, Some(Dtype::E4m3), Some(Dtype::I32)] {
            let Machine { capability, sm_count, matrix_tflops, memory_gb_per_s } = a100.machine(input);
            assert_eq!((capability, sm_count), (a100.capability, 108));
            assert_eq!((matrix_tflops, memory_gb_per_s), (312.0, 2039.0), "{input:?}: the rate of 16 bits");
        }
    }

    #[test]
    fn a_gpu_without_a_datasheet_has_the_multiprocessors_and_the_memory_that_its_driver_tells() {
        let h20 = Target::of(&named("NVIDIA H20", (9, 0), 78)).machine(Some(Dtype::E4m3));
        assert_eq!(h20.sm_count, 78);
        assert!((h20.memory_gb_per_s - 4022.8).abs() < 0.1, "{h20:?}");
        let of_clock = 78.0 * 4096.0 * 1980e6 / 1e12;
        assert!((h20.matrix_tflops / (2.0 * of_clock) - 1.0).abs() < 1e-6, "{h20:?}");

        let silent = DeviceInfo { max_sm_clock_mhz: 0.0, max_memory_clock_mhz: 0.0, ..named("Orin", (8, 7), 16) };
        let orin = Target::of(&silent).machine(None);
        assert_eq!((orin.capability, orin.sm_count), (silent.compute_capability, 16));
        let a100 = Datasheet::find("a100").unwrap();
        assert!((orin.matrix_tflops - 312.0 / 108.0 * 16.0).abs() < 1e-9, "{orin:?}");
        assert_eq!(orin.memory_gb_per_s, a100.bandwidth_gb_s);
    }

    #[test]
    fn a_part_of_a_gpu_multiplies_at_the_rate_of_its_multiprocessors() {
        let part = Target::of(&named("NVIDIA H200 MIG 3g.71gb", (9, 0), 66)).machine(None);
        assert_eq!((part.sm_count, part.matrix_tflops), (66, 494.7));
    }

    #[test]
    fn entries_of_the_same_gpu_are_its_own_with_a_datasheet_and_without_one() {
        let h20 = Target::of(&named("NVIDIA H20", (9, 0), 78));
        assert!(h20.is_called("NVIDIA H20") && !h20.is_called("NVIDIA H200"));
        let h200 = Target::of_sheet(Datasheet::find("h200").unwrap());
        assert!(h200.is_called("NVIDIA H200") && !h200.is_called("NVIDIA H20"));
    }

    #[test]
    fn where_only_the_generation_is_known_hopper_is_an_h100() {
        let hopper = Target::of_capability(ComputeCapability::new(9, 0));
        assert_eq!(hopper, Target::of_sheet(Datasheet::find("h100").unwrap()));
    }
}
