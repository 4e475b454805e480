//! A GPU as a program sees it: its limits, its memory, its tensor maps.

mod arch;
mod memory;
mod tensor_map;

pub use arch::Arch;
pub(crate) use arch::MAX_BLOCK_THREADS;
pub(crate) use memory::GlobalMemory;
pub use memory::{DevicePointer, MemoryError};
pub use tensor_map::{Element, Fill, HANDLE_BYTES, Swizzle, TensorMap, TensorMapError};
