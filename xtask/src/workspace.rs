//! Where the workspace is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder of the workspace's Cargo.toml, found from `CARGO_MANIFEST_DIR`, which cargo sets to
/// this crate's folder; the value at compile time serves a binary that was started by hand.
pub fn root() -> Result<PathBuf> {
    let manifest_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root =
        manifest_dir.parent().context("xtask is not inside a workspace: run it as `cargo xtask` in a checkout")?;
    Ok(root.to_owned())
}

/// `path` as seen from `root` where it lies inside, for messages.
pub fn relative<'a>(path: &'a Path, root: &Path) -> &'a Path {
    path.strip_prefix(root).unwrap_or(path)
}
