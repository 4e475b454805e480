//! What can go wrong with a journal.

use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another process has it open.
    #[error(
        "another tuner{} is writing {}; wait for it to end, or choose another folder with --out",
        .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), .path.display()
    )]
    Busy {
        /// The journal.
        path: PathBuf,
        /// The process that has it, if it could be told.
        pid: Option<u32>,
    },
    /// A line is damaged, and not by a write that was cut short.
    #[error("{}:{line}: {reason}; delete the line, or start over with --fresh", .path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be read or written.
    #[error("{}: {source}; check that the folder is writable and has room", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl From<JournalError> for StoreError {
    fn from(error: JournalError) -> Self {
        StoreError::new(error)
    }
}

pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> JournalError + '_ {
    move |source| JournalError::Io { path: path.to_owned(), source }
}
