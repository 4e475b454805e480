//! The launch path: everything between checked operands and the driver.

mod align;
mod captured;
mod compiled;
mod image;
mod map_cache;
mod memory;
mod pad_rows;
mod pointers;
mod reach;
mod scratch;
mod set;
mod submit;
mod tensor_map;
mod workspace;

pub use compiled::{CompiledKernel, Resources};

use cudarc::driver::CudaContext;
use cudarc::driver::sys::CUdevice_attribute as Attribute;

use crate::{Datasheet, Error, Result, Target, device};

/// What a context's GPU can run.
pub(crate) fn target_of(context: &CudaContext) -> Result<Target> {
    let shared_bytes = context
        .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        .map_err(Error::cuda("asking for the shared memory of a block"))?;
    // A GPU whose name cannot be asked for is one that no datasheet knows.
    let sheet = context.name().ok().and_then(|name| Datasheet::of_driver_name(&name)).map(|sheet| sheet.key);
    let shared_bytes = u32::try_from(shared_bytes).unwrap_or(0);
    Ok(Target { capability: device::capability(context)?, shared_bytes, sheet })
}
