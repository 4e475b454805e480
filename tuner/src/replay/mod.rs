//! Recorded spaces: every schedule of a problem measured once on a real GPU, to search again without one.
//!
//! A recording is one gzipped JSON file for a problem on one GPU, with all its shapes. [`Recording`] is what a program
//! works with, `format` what the file holds, and [`Replay`] the evaluator that answers from it.

mod chance;
mod error;
mod evaluator;
mod format;
mod library;
mod method;
mod recording;

pub use error::RecordingError;
pub use evaluator::Replay;
pub use library::Library;
pub(crate) use library::SUFFIX;
pub use method::Method;
pub use recording::{RecordedShape, Recording};
