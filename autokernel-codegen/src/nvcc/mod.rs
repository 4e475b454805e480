//! nvcc: where it is, how it is called, what it said.

mod compile;
mod locate;
mod report;

pub use compile::{CompileError, Compiler, Image};
pub use locate::{LocateError, Nvcc, SEARCH_ENV};
pub use report::PtxasReport;
