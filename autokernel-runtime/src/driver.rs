//! Whether there is a CUDA driver to talk to.
//!
//! cudarc panics at its first call when libcuda is absent, so nothing may call it before this says yes.

use std::sync::OnceLock;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUstreamCaptureStatus;

use crate::{Error, Result};

/// The names under which cudarc also looks for the driver, so that it finds what is found here.
#[cfg(windows)]
const LIBRARIES: &[&str] = &["nvcuda.dll"];
#[cfg(not(windows))]
const LIBRARIES: &[&str] = &["libcuda.so", "libcuda.so.1"];

/// Opens the driver library once per process.
///
/// # Errors
/// [`Error::NoDriver`].
pub(crate) fn require() -> Result<()> {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    let present = *PRESENT.get_or_init(|| LIBRARIES.iter().any(|name| opens(name)));
    present.then_some(()).ok_or(Error::NoDriver)
}

fn opens(name: &str) -> bool {
    // SAFETY: opening NVIDIA's driver library runs only its own initialisers; cudarc opens the same file next.
    match unsafe { libloading::Library::new(name) } {
        Ok(library) => {
            // Kept open: closing and reopening the driver would cost milliseconds.
            std::mem::forget(library);
            true
        }
        Err(_) => false,
    }
}

/// The newest CUDA version that the driver supports, as 1000 × major + 10 × minor.
///
/// # Errors
/// [`Error::NoDriver`], or the driver's own error.
pub(crate) fn version() -> Result<u32> {
    require()?;
    let mut version = 0;
    // SAFETY: the driver is present, and `version` outlives the call.
    unsafe { cudarc::driver::sys::cuDriverGetVersion(&mut version) }
        .result()
        .map_err(Error::cuda("asking for the driver's version"))?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// Refuses a driver that lacks a function; calling it would panic inside cudarc.
///
/// # Errors
/// [`Error::DriverTooOld`], or what [`version`] returns.
pub(crate) fn require_version(what: &'static str, needed: u32) -> Result<()> {
    let found = version()?;
    if found < needed {
        return Err(Error::DriverTooOld { what, needed, found });
    }
    Ok(())
}

/// Whether a stream is being captured in a graph. The default stream cannot be.
///
/// # Errors
/// The driver's own error.
pub(crate) fn is_capturing(stream: &CudaStream) -> Result<bool> {
    if stream.cu_stream().is_null() {
        return Ok(false);
    }
    let status = stream.capture_status().map_err(Error::cuda("asking whether the stream is captured"))?;
    Ok(status == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE)
}
