//! Whether there is a CUDA driver to talk to.
//!
//! cudarc panics at its first call when libcuda is absent, so nothing may call it before this says yes.

use std::ffi::c_void;
use std::sync::OnceLock;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{CUgraph, CUgraphNode, CUresult, CUstream, CUstreamCaptureStatus};

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

/// The capture of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capture {
    /// No other one of the process has it.
    pub id: u64,
    /// What is captured to.
    pub graph: CUgraph,
}

/// `cuStreamGetCaptureInfo_v3`, from drivers for CUDA 12.3 on; cudarc has it only where the toolkit it was built with does.
type GetCaptureInfo = unsafe extern "C" fn(
    CUstream,
    *mut CUstreamCaptureStatus,
    *mut u64,
    *mut CUgraph,
    *mut *const CUgraphNode,
    *mut *const c_void,
    *mut usize,
) -> CUresult;

/// The capture of a stream that is being captured; none where the driver cannot tell.
///
/// # Errors
/// The driver's own error.
pub(crate) fn capture_of(stream: &CudaStream) -> Result<Option<Capture>> {
    static CALL: OnceLock<Option<GetCaptureInfo>> = OnceLock::new();
    let Some(call) =
        CALL.get_or_init(|| LIBRARIES.iter().find_map(|name| function(name, b"cuStreamGetCaptureInfo_v3")))
    else {
        return Ok(None);
    };
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut id, mut graph) = (0, std::ptr::null_mut());
    let (mut nodes, mut edges, mut count) = (std::ptr::null(), std::ptr::null(), 0);
    // SAFETY: the function is of that type, and all that it writes to outlives the call.
    unsafe { call(stream.cu_stream(), &mut status, &mut id, &mut graph, &mut nodes, &mut edges, &mut count) }
        .result()
        .map_err(Error::cuda("asking for a stream's capture"))?;
    Ok((!graph.is_null()).then_some(Capture { id, graph }))
}

/// A function of the driver.
fn function(library: &str, name: &[u8]) -> Option<GetCaptureInfo> {
    // SAFETY: as in `opens`; the function of this name has this type.
    unsafe {
        let library = libloading::Library::new(library).ok()?;
        let found = library.get::<GetCaptureInfo>(name).ok().map(|function| *function);
        std::mem::forget(library);
        found
    }
}
