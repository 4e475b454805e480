//! What autokernel's attributes, build scripts and tuner share.
//!
//! A [`Problem`](problem::Problem) says what must be computed, a [`Schedule`](schedule::Schedule) says how.
//! [`emit`] turns the two into CUDA, [`nvcc`] compiles it through a content-addressed cache, [`config`] remembers the
//! schedules that were measured fastest, and [`Build`] is what a `build.rs` calls. Nothing here touches a GPU.

pub mod attention;
mod block;
mod body_text;
pub mod build;
mod conditions;
pub mod config;
pub mod epilogue;
mod fetched;
pub mod files;
mod folded;
pub mod function;
mod groups;
pub mod headers;
mod made_scales;
mod mistakes;
mod names;
pub mod nvcc;
pub mod product;
pub mod rows;
pub mod spec;
mod translate;
mod twin;
mod words;

pub use build::{Build, BuildError};
pub use translate::check_function;
pub use twin::function_items;

// What the operations say, under the paths of this crate.
pub use autokernel_ops::{hash, knob, matmul, opponent, weights};

/// What must be computed, whatever the operation.
pub mod problem {
    pub use autokernel_ops::matmul::inputs::{INPUTS, in_words, outputs};
    pub use autokernel_ops::matmul::problem::Layout;
    pub use autokernel_ops::packing::{Problem as Packing, extents as packing_extents};
    pub use autokernel_ops::registry::{Class as ProblemClass, OtherDims, Problem, attributes, dims_of_rank};
    pub use autokernel_ops::routing::Problem as Routing;
}

/// How problems are computed.
pub mod schedule {
    pub use autokernel_ops::rule::BrokenRule;
    pub use autokernel_ops::space;
    pub use autokernel_ops::{Family, Schedule};
}

/// GPU architectures, as nvcc names them.
pub mod arch {
    pub use autokernel_core::{Arch, ComputeCapability, Features, ParseArchError};
}

/// Element types.
pub mod dtype {
    pub use autokernel_core::Dtype;
}

/// From a problem and a schedule to the CUDA translation unit that nvcc compiles.
pub mod emit {
    pub use autokernel_ops::Operation;
    pub use autokernel_ops::expr::cuda::Spelling;
    pub use autokernel_ops::matmul::emit::{emit_reference, reference};
    pub use autokernel_ops::operation::Tolerance;
    pub use autokernel_ops::registry::all_headers;
    pub use autokernel_ops::source::{Header, KernelSource};
}
