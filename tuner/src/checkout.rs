//! The checkout of autokernel: its own config, and the recordings that come with the tuner.

use std::path::{Path, PathBuf};

/// The config in use where none is named.
pub const DEFAULT_CONFIG: &str = "best_config.json";

/// The recordings that come with the tuner.
pub fn own_spaces() -> PathBuf {
    root().join("tuner/spaces")
}

/// The config shipped with autokernel, which serves a crate's build where its own has nothing.
pub fn shipped_config() -> PathBuf {
    root().join(DEFAULT_CONFIG)
}

/// The sources, or where a pack for GPU machines was unpacked.
fn root() -> PathBuf {
    match std::env::var_os("AUTOKERNEL_ROOT") {
        Some(root) => root.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default(),
    }
}
