//! What the worker says of its GPU.

use autokernel_runtime::roofline::Roofline;
use autokernel_runtime::{Device, DeviceInfo};
use cudarc::driver::sys::CUdevice_attribute as Attribute;

use super::error::{Result, WorkerError};
use super::sensors::Sensors;
use crate::gpu::protocol::Gpu;
use crate::gpu_facts::GpuFacts;

/// Where Linux's NVIDIA driver says its version.
const DRIVER_VERSION_FILE: &str = "/proc/driver/nvidia/version";

/// The GPU of `device`.
pub fn gpu(device: &Device, info: &DeviceInfo) -> Result<Gpu> {
    let stream = device.stream().ok_or_else(|| WorkerError::Request("the worker needs a GPU".to_owned()))?;
    let attribute = |which| -> Result<u32> {
        let value = stream.context().attribute(which).map_err(WorkerError::driver("asking about the GPU"))?;
        Ok(u32::try_from(value).unwrap_or(0))
    };
    let roofline = Roofline::of(info);
    let facts = GpuFacts {
        name: info.name.clone(),
        sm_count: info.sm_count,
        shared_bytes_per_block: info.shared_bytes_per_block_optin,
        shared_bytes_per_sm: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        registers_per_sm: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        l2_bytes: info.l2_bytes,
        memory_gb_per_s: roofline.map_or_else(|| info.theoretical_bandwidth_gb_s(), |it| it.bandwidth_gb_s),
        matrix_tflops: roofline.map_or(0.0, |it| it.peak_tflops),
    };
    let capability = info.compute_capability;
    let sensors = Sensors::new(device);
    Ok(Gpu {
        facts,
        compute_capability: (capability.major.into(), capability.minor.into()),
        driver: driver_version(info),
        no_nvml: sensors.missing(),
        no_energy: sensors.energy_mj().err(),
    })
}

/// The driver's own version, `580.159.04`; else the newest CUDA it supports.
fn driver_version(info: &DeviceInfo) -> String {
    let text = std::fs::read_to_string(DRIVER_VERSION_FILE).unwrap_or_default();
    parse_version(&text)
        .unwrap_or_else(|| format!("CUDA {}.{}", info.driver_version / 1000, info.driver_version % 1000 / 10))
}

/// `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build …` → `580.159.04`.
fn parse_version(text: &str) -> Option<String> {
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().find(|line| line.starts_with("NVRM"))?.split_whitespace().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_version_is_read_from_what_the_module_says() {
        let text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (x)\nGCC …\n";
        assert_eq!(parse_version(text).as_deref(), Some("580.159.04"));
        assert_eq!(parse_version(""), None);
    }
}
