//! What autokernel's attributes, build scripts and tuner share.
//!
//! A [`Problem`](problem::Problem) says what must be computed, a [`Schedule`](schedule::Schedule) says how.
//! [`emit`] turns the two into CUDA, [`nvcc`] compiles it through a content-addressed cache, [`config`] remembers the
//! schedules that were measured fastest, and [`Build`] is what a `build.rs` calls. Nothing here touches a GPU.

pub mod arch;
pub mod build;
pub mod config;
pub mod dtype;
pub mod emit;
pub mod epilogue;
pub mod files;
mod hash;
pub mod headers;
mod launch;
pub mod nvcc;
pub mod problem;
pub mod schedule;
pub mod shape;
pub mod spec;

pub use build::{Build, BuildError};
pub use hash::short as short_hash;
pub use launch::signature;
