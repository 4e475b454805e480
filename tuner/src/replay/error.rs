//! What can go wrong with a recording.

use std::path::PathBuf;

use autokernel_codegen::problem::OtherDims;
use autokernel_codegen::schedule::BrokenRule;
use autokernel_core::Implausible;

use crate::columns::ColumnsError;
use crate::gpu_facts::NoGpu;

/// A recording that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read or written.
    #[error("{}: {source}; check the path, and that the folder is writable when recording", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a recording of this version.
    #[error("{}: {reason}; restore the file from version control or record it again", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Why the contents of a recording do not fit together.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The extents of a table are not those of its operation.
    #[error(transparent)]
    Dims(#[from] OtherDims),
    /// Written by another version.
    #[error(
        "format `{format}` version {version} is not `{}` version {}",
        super::format::FORMAT,
        super::format::VERSION
    )]
    Version {
        /// What the file says it is.
        format: String,
        /// And in which version.
        version: u32,
    },
    /// No GPU has these figures.
    #[error(transparent)]
    Gpu(#[from] NoGpu),
    /// A reference of cuBLAS that cannot have been measured.
    #[error("cuBLAS at {shape}: {implausible}")]
    Cublas {
        /// The shape.
        shape: String,
        /// What is wrong with it.
        implausible: Implausible,
    },
    /// Its columns are no schedules.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// A row is a schedule that cannot be compiled.
    #[error("schedule {row} cannot have been measured: {broken}")]
    Rule {
        /// The row, from 0.
        row: usize,
        /// The rule.
        broken: BrokenRule,
    },
    /// A schedule is listed twice.
    #[error("schedule {row} is listed twice")]
    Twice {
        /// The second row, from 0.
        row: usize,
    },
    /// A time that no launch can take, or a failure that is not listed.
    #[error("{shape}, schedule {row}: {reason}")]
    Row {
        /// The shape.
        shape: String,
        /// The row, from 0.
        row: usize,
        /// What is wrong with it.
        reason: String,
    },
}
