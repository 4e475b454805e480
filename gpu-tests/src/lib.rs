//! Holds every kernel that autokernel can declare against a reference that is summed in fp64.
//!
//! - [`kernels`]: one declaration for each epilogue, layout and element type; [`kernels::catalogue`] lists them.
//! - [`shapes`], [`place`]: random shapes, and where their matrices lie inside larger, guarded buffers.
//! - [`mod@reference`], [`tolerance`]: the product in fp64, and how far a kernel may be from it.
//! - [`check`]: runs launches on one case: poisoned output, guard zones, comparison, and a report that names the case.
//! - [`agreement`]: a GPU against an emulated one.
//! - [`compiled`]: every compiled variant of a declared kernel, and schedules compiled while the test runs.
//! - [`rows`], [`bodies`]: row-wise kernels and products with bodies, against what their bodies give in fp64;
//!   [`operands`]: the operands of either.
//! - [`attention`]: attention of random sizes and strides, against fp64.
//! - [`shared`]: products whose tiles clusters share.
//! - [`block_scales`]: products of 8-bit floats whose blocks have scales.
//! - [`made_scales`]: products that make the scales of their 8-bit outputs.
//! - [`weights`]: products of floats and of weights of 8 and 4 bits.
//! - [`packing`]: such weights, as a launch makes them.
//! - [`in_place`]: kernels that write over what they read.
//! - [`settings`]: how many cases, and which; [`skip`]: how a test says that it could not run.

pub mod agreement;
pub mod attention;
pub mod block_scales;
pub mod bodies;
pub mod check;
pub mod compiled;
pub mod host;
pub mod in_place;
pub mod kernels;
pub mod made_scales;
pub mod operands;
pub mod packing;
pub mod place;
pub mod ranking;
pub mod reference;
pub mod rows;
pub mod settings;
pub mod shapes;
pub mod shared;
pub mod skip;
pub mod timed;
pub mod tolerance;
pub mod weights;
