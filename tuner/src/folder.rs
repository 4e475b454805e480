//! The files of an output folder.

use std::path::{Path, PathBuf};

/// The output folder where none is named.
pub const DEFAULT: &str = "tuner-out";
/// The journal of [`DEFAULT`].
pub const DEFAULT_JOURNAL: &str = "tuner-out/history.jsonl";

/// The journal.
pub fn journal(folder: &Path) -> PathBuf {
    folder.join("history.jsonl")
}

/// Compiled kernels. Absolute: nvcc runs in folders of its own.
pub fn kernels(folder: &Path) -> PathBuf {
    let cache = folder.join("kernels");
    std::path::absolute(&cache).unwrap_or(cache)
}
