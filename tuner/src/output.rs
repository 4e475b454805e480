//! Files that a command leaves behind.

use std::io;
use std::path::{Path, PathBuf};

use autokernel_codegen::files;

/// An output that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}; check that the folder is writable and has room", .path.display())]
pub struct OutputError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl OutputError {
    /// The error of the output at `path`.
    pub(crate) fn at<E: Into<io::Error>>(path: &Path) -> impl FnOnce(E) -> OutputError + use<'_, E> {
        move |source| OutputError { path: path.to_owned(), source: source.into() }
    }
}

/// Replaces the file at `path` as a whole.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    files::replace(path, contents).map_err(OutputError::at(path))
}
