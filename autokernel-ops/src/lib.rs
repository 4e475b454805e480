//! The operations that autokernel compiles, a folder each.
//!
//! A folder holds all that is particular to its operation: the problem and its class, the schedules with their rules,
//! the CUDA files, what is printed beside them, and the launch plan. The rest of the crate is what operations share:
//! [`expr`] turns an element-wise function into CUDA, [`epilogue`] names the built-in ones, [`source`] prints structs.
//! Nothing here parses Rust, runs nvcc or touches a GPU.

pub mod attention;
pub mod backward;
pub mod body;
pub mod contender;
pub mod declaration;
pub mod epilogue;
pub mod expr;
pub mod family;
pub mod forecast;
pub mod hash;
pub mod knob;
mod lines;
pub mod matmul;
pub mod operation;
pub mod opponent;
pub mod packing;
pub mod registry;
pub mod routing;
pub mod rows;
pub mod rule;
#[cfg(feature = "sketch")]
pub mod scaled_copy;
pub mod schedule;
pub mod search;
pub mod source;
pub mod space;
mod stated;
pub mod weights;

pub use family::{Family, OtherFamily};
pub use operation::Operation;
pub use registry::{Class, Problem};
pub use schedule::Schedule;
