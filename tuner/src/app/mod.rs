//! The commands, as functions.

use std::path::{Path, PathBuf};

mod error;
mod finals;
mod in_use;
mod json;
mod outputs;
mod proposer;
mod replay;
mod run;
mod select;
mod tune;

pub use error::AppError;
pub use finals::finals;
pub use in_use::DEFAULT_CONFIG;
pub use json::RunDocument;
pub(crate) use proposer::provider;
pub use select::{Job, Selection, select};
pub use tune::{Ending, tune};

/// The recordings that come with the tuner.
pub fn own_spaces() -> PathBuf {
    repository().join("tuner/spaces")
}

/// The checkout of autokernel: its sources, or where a pack for GPU machines was unpacked.
fn repository() -> PathBuf {
    match std::env::var_os("AUTOKERNEL_ROOT") {
        Some(root) => root.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default(),
    }
}
