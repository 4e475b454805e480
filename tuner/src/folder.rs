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

/// The folder of compiled kernels that builds share, where `AUTOKERNEL_CACHE_DIR` names one.
pub fn named_kernels() -> Option<PathBuf> {
    std::env::var_os("AUTOKERNEL_CACHE_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// A name beside `path` that nothing has, to put it aside under: `history.jsonl.old`, then `history.jsonl.old.2`.
pub fn aside(path: &Path) -> PathBuf {
    let named = |ending: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let later = (2..).map(|number: u32| named(format!(".old.{number}")));
    let free = std::iter::once(named(".old".to_owned())).chain(later).find(|path| !path.exists());
    free.unwrap_or_else(|| named(".old".to_owned()))
}
