//! The vocabulary of autokernel: what its build, its runtime and its tuner say to each other.
//!
//! - [`Dtype`], [`Arch`], [`ComputeCapability`], [`Extents`]: the words.
//! - [`Signature`]: the operands that a kernel takes, and the dimensions that they share; [`Numbers`]: what whole numbers may be.
//! - [`LaunchPlan`]: what a launch does with them, as data. CUDA's argument struct is printed from it and the runtime
//!   packs by it, so the two cannot disagree.
//! - [`gpu`]: what multiprocessors have.
//! - [`Placement`] and [`Occupancy`]: how the blocks of a plan fall onto a GPU's SMs.
//! - [`Descriptor`] and [`Variant`]: a declared kernel with the schedules that were compiled for it.
//! - [`fingerprint()`]: whether a build and rustc found the same text.
//! - [`erf`]: the one function an epilogue may call that is no method of `f32`.
//!
//! Plain data with serde: nothing here parses Rust, runs nvcc or touches a GPU, and no operation is known by name.

mod arch;
mod capability;
mod descriptor;
mod dtype;
mod erf;
mod extents;
mod fingerprint;
pub mod gpu;
mod ms;
mod numbers;
mod occupancy;
mod placement;
pub mod plan;
mod plausible;
mod signature;
mod sm_limits;
mod span;
mod tuned;

pub use arch::{Arch, Features, ParseArchError};
pub use capability::ComputeCapability;
pub use descriptor::{Confined, Descriptor, Portfolio, Variant};
pub use dtype::Dtype;
pub use erf::erf;
pub use extents::{Dim, Extents, MAX_RANK, ParseExtentsError, dim};
pub use fingerprint::fingerprint;
pub use ms::Ms;
pub use numbers::{Counted, Each, Numbers, Size};
pub use occupancy::{BlockNeeds, Limiter, Occupancy};
pub use placement::Placement;
pub use plan::{Alignment, Arg, Field, Grid, KernelStep, LaunchPlan, Residency, Split, TileBox};
pub use plausible::{Implausible, check_amount, check_between, check_count, check_ms};
pub use signature::{Coarse, Dimension, OWN_AXIS, Operand, Passed, Role, Signature};
pub use sm_limits::SmLimits;
pub use span::{ParseSpanError, Span};
pub use tuned::{Provenance, Tuned};
