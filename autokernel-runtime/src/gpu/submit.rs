//! The one call that hands a kernel to the driver.

use std::ffi::c_void;

use cudarc::driver::sys::{self, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig};
use cudarc::driver::{CudaFunction, CudaStream, DriverError, result};

use crate::{Error, Result, driver};

/// The first driver whose graph capture takes programmatic dependencies.
const PROGRAMMATIC_EDGES: u32 = 12030;

/// Whether kernels that wait for the grids before them may start their prologue early.
pub(super) fn can_overlap() -> Result<bool> {
    Ok(driver::version()? >= PROGRAMMATIC_EDGES)
}

/// How many blocks of how many threads, and what each has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks {
    /// Along x, y and z.
    pub along: (u32, u32, u32),
    pub threads: u32,
    pub shared_bytes: u32,
    /// Start the prologue while the kernel before in the stream still runs (programmatic dependent launch).
    pub overlaps_previous: bool,
}

/// Launches `function` with one parameter by value.
///
/// # Errors
/// The driver's own error.
///
/// # Safety
/// `function` takes exactly one parameter, which `parameter` points to in its layout, and which names only memory that
/// stays valid and ordered on `stream` until the kernel has run; the grid is one that the kernel was compiled for. With `overlaps_previous`
/// every thread of the kernel runs `griddepcontrol.wait` before it touches global memory.
pub(super) unsafe fn launch(
    function: &CudaFunction,
    stream: &CudaStream,
    grid: Blocks,
    parameter: *mut c_void,
) -> Result<()> {
    let mut parameters: [*mut c_void; 1] = [parameter];
    let submitted = if grid.overlaps_previous {
        // SAFETY: as below; the kernel waits for the grids before it.
        unsafe { launch_behind_previous(function, stream, grid, &mut parameters) }
    } else {
        // SAFETY: the parameter outlives the call, which copies it; the rest is the caller's promise.
        unsafe {
            result::launch_kernel(
                function.cu_function(),
                grid.along,
                (grid.threads, 1, 1),
                grid.shared_bytes,
                stream.cu_stream(),
                &mut parameters,
            )
        }
    };
    submitted.map_err(Error::cuda("launching a kernel"))
}

/// A programmatic dependent launch.
///
/// # Safety
/// As [`launch`].
unsafe fn launch_behind_previous(
    function: &CudaFunction,
    stream: &CudaStream,
    grid: Blocks,
    parameters: &mut [*mut c_void],
) -> std::result::Result<(), DriverError> {
    let mut attribute = CUlaunchAttribute {
        id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        // SAFETY: the attribute is plain data, for which zeros are valid.
        ..unsafe { std::mem::zeroed() }
    };
    attribute.value.programmaticStreamSerializationAllowed = 1;
    let (x, y, z) = grid.along;
    let config = CUlaunchConfig {
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: grid.threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: grid.shared_bytes,
        hStream: stream.cu_stream(),
        attrs: &raw mut attribute,
        numAttrs: 1,
    };
    let (function, no_extra) = (function.cu_function(), std::ptr::null_mut());
    // SAFETY: configuration, attribute and parameters outlive the call, which copies them.
    unsafe { sys::cuLaunchKernelEx(&raw const config, function, parameters.as_mut_ptr(), no_extra) }.result()
}
