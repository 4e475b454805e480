//! Row-wise kernels: their extents.

pub use autokernel_ops::rows::plan::{DIMS, extents};
