//! Matrix products: `C = epilogue(A · B)`, or what a body says of `A · B` and other operands.

pub mod accumulation;
mod batch;
pub mod block_scales;
pub mod body;
mod declare;
mod default;
pub mod emit;
mod extents;
mod geometry;
pub mod inputs;
mod many;
pub mod model;
mod operation;
pub mod plan;
mod portable;
mod probes;
pub mod problem;
mod raster;
mod reference;
pub mod roots;
pub mod schedule;
mod skinny;
mod sm80;
mod sm90;
pub mod space;
mod statistics;

pub use extents::{
    BATCHED_DIMS, DIMS, GROUPED_DIMS, batched_extents, extents, flops, grouped_extents, matrices, products, sizes,
};
pub use many::Many;
pub use problem::{Class, Problem};
pub use schedule::Schedule;
pub use skinny::RULES as SKINNY_RULES;
pub use sm80::RULES as SM80_RULES;
pub use sm90::{RULES as SM90_RULES, heights};

#[cfg(test)]
mod tables_tests;

#[cfg(test)]
mod block_scales_tests;

#[cfg(test)]
mod weights_tests;
