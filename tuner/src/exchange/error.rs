//! Why nothing was exchanged.

use std::path::PathBuf;

use crate::replay::RecordingError;
use crate::store::StoreError;

/// Why nothing was exchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The trials cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A recording cannot be used or written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A file cannot be read or written.
    #[error("{}: {source}; check the path, and that the folder is writable", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {reason}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A file is not of the format.
    #[error("{}: not a results file of the T4 format, nor a cache file: {source}; name files as `tuner export` writes them: NAME.t4.json, NAME.cache.json", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Where it departs from the format.
        source: serde_json::Error,
    },
    /// The journal is not there.
    #[error("{} is no file; tune first, or name a journal with --journal", .0.display())]
    NoJournal(PathBuf),
    /// There is nothing to export.
    #[error("{} holds no trial that was asked for; leave --shape out, or tune first", .journal.display())]
    Nothing {
        /// The journal.
        journal: PathBuf,
    },
}
