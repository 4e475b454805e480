//! Where matrices live and kernels run: a CUDA stream, or the CPU.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaStream};

#[cfg(feature = "emulator")]
use crate::emulation::{Emulation, Emulator};
use crate::{ComputeCapability, Error, Result, driver};

/// Where matrices live and kernels run: one stream of a GPU, or the CPU.
///
/// Cheap to clone; clones share the stream. Work on one GPU stream runs in order, and the calling thread does not
/// wait for it; see [`Device::synchronize`].
#[derive(Clone)]
pub struct Device {
    backend: Backend,
}

/// Who runs kernels.
#[derive(Clone)]
pub(crate) enum Backend {
    Cpu,
    Cuda(Arc<CudaStream>),
    #[cfg(feature = "emulator")]
    Emulated(Arc<Emulator>),
}

impl Device {
    /// GPU number `ordinal` with its default stream, in the device's primary context.
    ///
    /// The default stream cannot be captured in a CUDA graph; [`Device::with_new_stream`] gives one that can.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::NoDevice`], or the driver's own error.
    pub fn new(ordinal: usize) -> Result<Self> {
        let found = Self::gpu_count()?;
        if ordinal >= found {
            return Err(Error::NoDevice { ordinal, found });
        }
        let context = CudaContext::new(ordinal).map_err(Error::cuda("opening the GPU"))?;
        Ok(Self::from_cudarc(context.default_stream()))
    }

    /// The CPU: kernels run on the calling thread and its rayon pool, and have finished when `launch` returns.
    pub const fn cpu() -> Self {
        Self { backend: Backend::Cpu }
    }

    /// An emulated GPU of that architecture: kernels run in an interpreter of their PTX, which checks every access, and
    /// have finished when `launch_on` returns. Its matrices live in host memory, as the CPU's do: what is launched without naming
    /// this device runs on the CPU.
    ///
    /// It is for tests on machines without a GPU, and slow: a millisecond holds some ten thousand multiply-adds.
    ///
    /// # Errors
    /// [`Error::NotEmulated`] for another architecture than `sm_80` … `sm_89`, `sm_90` and `sm_90a`.
    #[cfg(feature = "emulator")]
    pub fn emulated(arch: crate::Arch) -> Result<Self> {
        Self::emulated_with(Emulation::new(arch))
    }

    /// An emulated GPU as described; see [`Device::emulated`].
    ///
    /// # Errors
    /// As [`Device::emulated`].
    #[cfg(feature = "emulator")]
    pub fn emulated_with(emulation: Emulation) -> Result<Self> {
        Ok(Self { backend: Backend::Emulated(Arc::new(Emulator::new(emulation)?)) })
    }

    /// GPU 0 if it can be opened, else the CPU; [`Device::best_and_why`] tells why no GPU.
    pub fn best() -> Self {
        Self::best_and_why().0
    }

    /// GPU 0; or the CPU, and why GPU 0 cannot be opened.
    ///
    /// ```
    /// let (device, why) = autokernel_runtime::Device::best_and_why();
    /// if let Some(why) = why {
    ///     eprintln!("running on the CPU: {why}");
    /// }
    /// # assert_eq!(device, autokernel_runtime::Device::best());
    /// ```
    pub fn best_and_why() -> (Self, Option<Error>) {
        match Self::new(0) {
            Ok(gpu) => (gpu, None),
            Err(error) => (Self::cpu(), Some(error)),
        }
    }

    /// A stream that cudarc (or a library built on it, such as candle) already uses.
    pub const fn from_cudarc(stream: Arc<CudaStream>) -> Self {
        Self { backend: Backend::Cuda(stream) }
    }

    /// The same GPU with a new stream of its own; the CPU, or an emulated GPU, as it is.
    ///
    /// From then on cudarc tracks the use of every buffer of this context with events, so that streams wait for each
    /// other where they share a buffer.
    ///
    /// # Errors
    /// The driver's own error.
    pub fn with_new_stream(&self) -> Result<Self> {
        let Backend::Cuda(stream) = &self.backend else {
            return Ok(self.clone());
        };
        let stream = stream.context().new_stream().map_err(Error::cuda("creating a stream"))?;
        Ok(Self::from_cudarc(stream))
    }

    /// How many GPUs the driver sees.
    ///
    /// # Errors
    /// [`Error::NoDriver`], or the driver's own error.
    pub fn gpu_count() -> Result<usize> {
        driver::require()?;
        match CudaContext::device_count() {
            Ok(count) => Ok(usize::try_from(count).unwrap_or(0)),
            Err(error) if error.0 == CUresult::CUDA_ERROR_NO_DEVICE => Ok(0),
            // A toolkit's stub library stands in for the driver at link time; it is none.
            Err(error) if error.0 == CUresult::CUDA_ERROR_STUB_LIBRARY => Err(Error::NoDriver),
            Err(error) => Err(Error::cuda("starting the CUDA driver")(error)),
        }
    }

    /// Whether this is the CPU.
    pub const fn is_cpu(&self) -> bool {
        matches!(self.backend, Backend::Cpu)
    }

    /// The cudarc stream; `None` on the CPU and on an emulated GPU.
    pub const fn stream(&self) -> Option<&Arc<CudaStream>> {
        match &self.backend {
            Backend::Cuda(stream) => Some(stream),
            _ => None,
        }
    }

    /// Who runs kernels here.
    pub(crate) const fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The cudarc stream, or an error that says what needed it.
    pub(crate) fn require_stream(&self, what: &'static str) -> Result<&Arc<CudaStream>> {
        self.stream().ok_or(Error::NeedsGpu { what })
    }

    /// Waits until everything launched on this device's stream has finished. Does nothing where that is so already: on
    /// the CPU and on an emulated GPU.
    ///
    /// # Errors
    /// What the driver reports, which includes faults of kernels launched earlier.
    pub fn synchronize(&self) -> Result<()> {
        let Backend::Cuda(stream) = &self.backend else {
            return Ok(());
        };
        stream.synchronize().map_err(Error::cuda("waiting for the GPU"))
    }

    /// Whether a CUDA graph captures what is launched here.
    pub(crate) fn is_capturing(&self) -> Result<bool> {
        let Backend::Cuda(stream) = &self.backend else {
            return Ok(false);
        };
        driver::is_capturing(stream)
    }

    /// What the driver says about this GPU.
    ///
    /// # Errors
    /// [`Error::NeedsGpu`] on the CPU, or the driver's own error.
    pub fn info(&self) -> Result<DeviceInfo> {
        let stream = self.require_stream("`Device::info`")?;
        DeviceInfo::query(stream.context())
    }
}

/// Devices are equal when a buffer of one can be used on the other: the same CUDA context, or both in host memory, as
/// the CPU and emulated GPUs are.
impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        match (self.stream(), other.stream()) {
            (None, None) => true,
            (Some(a), Some(b)) => a.context().cu_ctx() == b.context().cu_ctx(),
            _ => false,
        }
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.backend {
            Backend::Cpu => f.write_str("the CPU"),
            Backend::Cuda(stream) => write!(f, "GPU {}", stream.context().ordinal()),
            #[cfg(feature = "emulator")]
            Backend::Emulated(emulator) => write!(f, "an emulated {} GPU", emulator.emulation().arch),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

/// What the driver says about a GPU.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The marketing name, such as `NVIDIA H200`.
    pub name: String,
    /// The compute capability.
    pub compute_capability: ComputeCapability,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Bytes of L2 cache.
    pub l2_bytes: u64,
    /// The most dynamic shared memory a block may ask for, in bytes.
    pub shared_bytes_per_block_optin: u32,
    /// Highest SM clock, in MHz, 0 where the driver does not tell it; a chip under load runs below it.
    pub max_sm_clock_mhz: f64,
    /// Highest memory clock, in MHz; 0 where the driver does not tell it.
    pub max_memory_clock_mhz: f64,
    /// Width of the memory bus, in bits.
    pub memory_bus_bits: u32,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// The newest CUDA version that the driver supports, as 1000 × major + 10 × minor.
    pub driver_version: u32,
}

impl DeviceInfo {
    pub(crate) fn query(context: &Arc<CudaContext>) -> Result<Self> {
        let doing = Error::cuda("asking the driver about the GPU");
        let attribute = |which| -> Result<u32> {
            let value = context.attribute(which).map_err(&doing)?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        // Not every driver tells clocks, and nothing but predictions depends on them.
        let clock_mhz = |which| attribute(which).map_or(0.0, |khz| f64::from(khz) / 1e3);
        Ok(Self {
            name: context.name().map_err(&doing)?,
            compute_capability: capability(context)?,
            sm_count: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            shared_bytes_per_block_optin: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            max_sm_clock_mhz: clock_mhz(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
            max_memory_clock_mhz: clock_mhz(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
            memory_bus_bits: attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
            memory_bytes: context.total_mem().map_err(&doing)? as u64,
            driver_version: driver::version()?,
        })
    }

    /// Memory bandwidth on paper, in 10⁹ bytes/s: two transfers a clock (DDR) over the whole bus.
    ///
    /// The formula of NVIDIA's CUDA C++ Best Practices Guide, "Theoretical Bandwidth Calculation".
    pub fn theoretical_bandwidth_gb_s(&self) -> f64 {
        let bytes_per_transfer = f64::from(self.memory_bus_bits) / 8.0;
        2.0 * self.max_memory_clock_mhz * 1e6 * bytes_per_transfer / 1e9
    }
}

/// A context's compute capability.
pub(crate) fn capability(context: &CudaContext) -> Result<ComputeCapability> {
    let (major, minor) = context.compute_capability().map_err(Error::cuda("asking for the compute capability"))?;
    let part = |value: i32| u8::try_from(value).unwrap_or(0);
    Ok(ComputeCapability::new(part(major), part(minor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_equals_itself_and_needs_no_waiting() {
        assert_eq!(Device::cpu(), Device::cpu().with_new_stream().unwrap());
        Device::cpu().synchronize().unwrap();
        assert_eq!(Device::cpu().to_string(), "the CPU");
    }

    #[test]
    fn asking_the_cpu_for_gpu_facts_names_the_device_to_use() {
        let text = Device::cpu().info().unwrap_err().to_string();
        assert!(text.contains("Device::new(0)"), "{text}");
    }

    #[test]
    fn bandwidth_on_paper_of_an_h200_is_near_its_datasheets_4800() {
        let info = DeviceInfo {
            name: "NVIDIA H200".into(),
            compute_capability: ComputeCapability::new(9, 0),
            sm_count: 132,
            l2_bytes: 60 << 20,
            shared_bytes_per_block_optin: 232_448,
            max_sm_clock_mhz: 1980.0,
            max_memory_clock_mhz: 3201.0,
            memory_bus_bits: 6016,
            memory_bytes: 150_109_880_320,
            driver_version: 13000,
        };
        assert!((info.theoretical_bandwidth_gb_s() - 4814.3).abs() < 0.1);
    }
}
