//! Driver, GPU, clocks, cuBLASLt.

use autokernel_runtime::{ComputeCapability, Device, DeviceInfo, Error};
use cudarc::cublaslt::sys as cublaslt;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;

use super::check::{Check, Status};
use crate::gpu::pool::{Deadlines, GpuPool};
use crate::gpu::process::WorkerCommand;

/// The GPU that the tuner uses.
const DEVICE: usize = 0;
const OLDEST: ComputeCapability = ComputeCapability::new(8, 0);
const WITHOUT: &str = "needed only to measure: without it the tuner replays recorded spaces";

/// The driver, the GPU, the tuner's worker on it, and NVML.
pub fn checks() -> Vec<Check> {
    match Device::gpu_count() {
        Err(Error::NoDriver) => {
            let remedy = format!("install NVIDIA's driver; {WITHOUT}");
            vec![Check::new("driver", Status::Missing, "no NVIDIA driver", remedy)]
        }
        Err(error) => {
            let remedy = "check `nvidia-smi`; reinstall the driver, or reboot if it was just updated";
            vec![Check::new("driver", Status::Broken, error.to_string(), remedy)]
        }
        Ok(0) => {
            let remedy = format!("check `nvidia-smi` and CUDA_VISIBLE_DEVICES; {WITHOUT}");
            vec![Check::ok("driver", "is there"), Check::new("GPU", Status::Missing, "the driver sees none", remedy)]
        }
        Ok(count) => with_gpu(count),
    }
}

fn with_gpu(count: usize) -> Vec<Check> {
    let opened = Device::new(DEVICE).and_then(|device| Ok((device.info()?, device)));
    let (info, device) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let remedy = "check `nvidia-smi`: another process may hold the GPU in exclusive mode";
            return vec![Check::new("GPU", Status::Broken, error.to_string(), remedy)];
        }
    };
    let cuda = format!("supports CUDA {}.{}", info.driver_version / 1000, info.driver_version % 1000 / 10);
    vec![Check::ok("driver", cuda), gpu(&info, count), worker(), clocks(&device)]
}

fn gpu(info: &DeviceInfo, count: usize) -> Check {
    let others = if count > 1 { format!("; {} more measure with --gpus all", count - 1) } else { String::new() };
    let gib = info.memory_bytes as f64 / f64::from(1 << 30);
    let found = format!(
        "{}, compute capability {}, {} SMs, {gib:.0} GiB{others}",
        info.name, info.compute_capability, info.sm_count
    );
    if info.compute_capability < OLDEST {
        let remedy = "autokernel's kernels need compute capability 8.0; this GPU runs none of them";
        return Check::new("GPU", Status::Warn, found, remedy);
    }
    Check::ok("GPU", found)
}

/// Whether the process that measures comes up.
fn worker() -> Check {
    let gpu = WorkerCommand::of_this_program(DEVICE)
        .map_err(|error| error.to_string())
        .and_then(|command| GpuPool::new(command, Deadlines::default()).gpu().map_err(|error| error.to_string()));
    match gpu {
        Ok(gpu) => Check::ok("worker", format!("starts; driver {}", gpu.driver)),
        Err(error) => Check::of_error("worker", Status::Broken, &error),
    }
}

fn clocks(device: &Device) -> Check {
    const NAME: &str = "clocks";
    match read_clocks(device) {
        Ok(found) => Check::ok(NAME, found),
        Err(error) => {
            let remedy = "install libnvidia-ml; without it times carry no clock, so a throttled GPU goes unnoticed";
            Check::new(NAME, Status::Warn, format!("NVML does not say: {error}"), remedy)
        }
    }
}

fn read_clocks(device: &Device) -> Result<String, NvmlError> {
    let nvml = Nvml::init()?;
    let uuid = device.stream().and_then(|stream| stream.context().uuid().ok()).ok_or(NvmlError::NotFound)?;
    let gpu = nvml.device_by_uuid(uuid_text(uuid.bytes.map(|byte| byte as u8)))?;
    let (now, highest) = (gpu.clock_info(Clock::SM)?, gpu.max_clock_info(Clock::SM)?);
    let (memory, used) = (gpu.clock_info(Clock::Memory)?, gpu.memory_info()?.used);
    let used = used as f64 / f64::from(1 << 30);
    Ok(format!("SM {now} of {highest} MHz, memory {memory} MHz, {used:.1} GiB in use"))
}

/// As NVML writes it: `GPU-8f6ad5b4-…`.
fn uuid_text(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Whether cuBLASLt, the opponent of every final, can be loaded.
pub fn cublas_lt() -> Check {
    // SAFETY: opening cuBLASLt runs only its own initialisers.
    if unsafe { cublaslt::is_culib_present() } {
        return Check::ok("libcublasLt", "loads");
    }
    let remedy = "install the CUDA toolkit or put it on LD_LIBRARY_PATH; needed only to compare with cuBLAS on a GPU";
    Check::new("libcublasLt", Status::Missing, "was not found", remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_nvml_reads_it() {
        let bytes = std::array::from_fn(|index| index as u8 * 16 + 1);
        assert_eq!(uuid_text(bytes), "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
    }
}
