//! A stream of the caller.

use std::ffi::c_void;
use std::sync::Arc;

use autokernel::cudarc::driver::CudaStream;
use autokernel::{Device, Error, Result};

use crate::error::handed_out;

/// GPU 0 with a stream of the caller.
pub struct Session {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) device: Device,
}

impl Session {
    /// # Safety
    /// `stream` is one of GPU 0's primary context, which lives as long as the process.
    unsafe fn new(stream: *mut c_void) -> Result<Self> {
        let gpu = Device::new(0)?;
        let context = gpu.stream().ok_or(Error::NeedsGpu { what: "a session" })?.context();
        // SAFETY: by the caller's promise.
        let stream = unsafe { context.wrap_borrowed_stream(stream.cast()) };
        Ok(Session { device: Device::from_cudarc(stream.clone()), stream })
    }
}

/// A session on a stream, which is not the default one.
///
/// # Safety
/// `stream` is a `cudaStream_t` of GPU 0 in its primary context, and lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_layer_session(stream: *mut c_void) -> *mut Session {
    // SAFETY: by the caller's promise.
    handed_out(unsafe { Session::new(stream) })
}
