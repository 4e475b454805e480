//! Packing: its extents.

pub use autokernel_ops::packing::{DIMS, extents};
