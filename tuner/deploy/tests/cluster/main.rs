//! The files of this folder as clusters read them.

mod commands;
mod kubernetes;
#[path = "../../../tests/common/skip.rs"]
mod skip;
mod slurm;

use std::path::{Path, PathBuf};

/// The files of a folder whose names end so, with their text.
fn files(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    assert!(!paths.is_empty());
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}
