//! The library, on a stream.

use std::sync::Arc;

use autokernel_runtime::Device;
use cudarc::cublaslt::sys;
use cudarc::driver::{CudaSlice, CudaStream};

use super::descriptor::{Handle, WORKSPACE_BYTES};
use crate::{Error, Result};

/// A cuBLASLt handle with its workspace, on one stream.
pub struct CublasLt {
    pub(super) handle: Handle,
    pub(super) stream: Arc<CudaStream>,
    pub(super) workspace: CudaSlice<u8>,
}

impl CublasLt {
    /// A handle on the stream of `device`.
    ///
    /// # Errors
    /// The device is the CPU, or there is no cuBLASLt.
    pub fn new(device: &Device) -> Result<Self> {
        let stream = device.stream().ok_or(Error::Operands("cuBLASLt needs a GPU"))?.clone();
        // SAFETY: loading the library runs its initialisers, which is what using it means.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoCublasLt);
        }
        // SAFETY: a workspace is written before it is read.
        let workspace = unsafe { stream.alloc(WORKSPACE_BYTES)? };
        Ok(CublasLt { handle: Handle::new()?, stream, workspace })
    }
}
