//! What device memory gives: a large copy inside it.

use autokernel::Device;
use cudarc::driver::CudaSlice;

use crate::Outcome;

/// Bytes that are copied: far more than the L2 cache holds.
const BYTES: usize = 1 << 28;

/// A copy from one buffer to another.
pub struct Copy {
    device: Device,
    from: CudaSlice<u8>,
    to: CudaSlice<u8>,
}

impl Copy {
    pub fn new(device: &Device) -> Outcome<Self> {
        let stream = device.stream().ok_or("a copy in device memory needs a GPU")?;
        let (from, to) = (stream.alloc_zeros(BYTES)?, stream.alloc_zeros(BYTES)?);
        Ok(Copy { device: device.clone(), from, to })
    }

    /// Queues the copy.
    pub fn run(&mut self) -> autokernel::Result<()> {
        let stream = self.device.stream().ok_or(autokernel::Error::NoDriver)?;
        let copied = stream.memcpy_dtod(&self.from, &mut self.to);
        copied.map_err(|source| autokernel::Error::Cuda { doing: "copying in device memory", source })
    }

    /// The traffic of a copy: what is read and what is written.
    pub fn bytes(&self) -> f64 {
        2.0 * BYTES as f64
    }
}
