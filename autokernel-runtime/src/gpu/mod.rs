//! The launch path: everything between checked operands and the driver.

mod align;
mod captured;
mod compiled;
mod copies;
mod copy;
mod image;
mod map_cache;
mod memory;
mod pad_rows;
mod pointers;
mod reach;
mod rotation;
mod scratch;
mod set;
mod submit;
mod tensor_map;
mod workspace;

pub use compiled::{CompiledKernel, Resources};
pub(crate) use rotation::{HERE, Rotation};

use std::sync::Arc;

use cudarc::driver::CudaContext;

use crate::{DeviceInfo, Result, Target};

/// A context's GPU.
pub(crate) fn target_of(context: &Arc<CudaContext>) -> Result<Target> {
    DeviceInfo::query(context).map(|info| Target::of(&info))
}
