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
    /// Blocks of a cluster along x, where the image leaves that to the launch.
    pub cluster: Option<u32>,
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
    let submitted = if grid.overlaps_previous || grid.cluster.is_some() {
        // SAFETY: as below; a kernel that may begin early waits for the grids before it.
        unsafe { launch_with_attributes(function, stream, grid, &mut parameters) }
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

/// A programmatic dependent launch, one in clusters, or both.
///
/// # Safety
/// As [`launch`].
unsafe fn launch_with_attributes(
    function: &CudaFunction,
    stream: &CudaStream,
    grid: Blocks,
    parameters: &mut [*mut c_void],
) -> std::result::Result<(), DriverError> {
    // SAFETY: an attribute is plain data, for which zeros are valid.
    let mut attributes: [CUlaunchAttribute; 2] = unsafe { std::mem::zeroed() };
    let mut count = 0;
    if grid.overlaps_previous {
        attributes[count].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[count].value.programmaticStreamSerializationAllowed = 1;
        count += 1;
    }
    if let Some(x) = grid.cluster {
        attributes[count].id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = x;
        attributes[count].value.clusterDim.y = 1;
        attributes[count].value.clusterDim.z = 1;
        count += 1;
    }
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
        attrs: attributes.as_mut_ptr(),
        numAttrs: count as u32,
    };
    let (function, no_extra) = (function.cu_function(), std::ptr::null_mut());
    // SAFETY: configuration, attributes and parameters outlive the call, which copies them.
    unsafe { sys::cuLaunchKernelEx(&raw const config, function, parameters.as_mut_ptr(), no_extra) }.result()
}
