//! Matrix products: `C = epilogue(A · B)`.

mod default;
pub mod emit;
mod extents;
mod geometry;
pub mod plan;
pub mod problem;
mod raster;
mod reference;
pub mod schedule;
mod sm80;
mod sm90;
pub mod space;

pub use extents::{DIMS, extents, flops, sizes};
