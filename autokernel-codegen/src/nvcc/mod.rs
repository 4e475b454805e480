//! nvcc: where it is, how it is called, what it said.

mod cache;
mod compile;
mod image;
mod locate;
mod process;
mod remedy;
mod report;
mod unit;

pub use compile::{CompileError, Compiler, RUNTIME_HEADER, runtime_header};
pub use image::Image;
pub use locate::{LocateError, Nvcc, OLDEST, SEARCH_ENV};
pub use report::PtxasReport;
pub use unit::joined_by;

/// The environment variables that nvcc reads and that change what it compiles: a build script watches them.
pub const COMPILE_ENV: [&str; 3] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"];

#[cfg(all(test, unix))]
mod tests;
