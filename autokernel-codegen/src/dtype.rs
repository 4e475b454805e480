//! Element types.

pub use autokernel_core::Dtype;
