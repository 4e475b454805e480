//! Which nvcc the project uses.

use std::path::Path;

use anyhow::{Context, Result};
use autokernel_codegen::nvcc::Nvcc;

/// Where `cargo xtask setup` puts NVIDIA's wheels, relative to the workspace root. Build scripts
/// look for [`NVCC_IN_SITE`] in it.
pub const SITE: &str = ".toolchain/site";
/// nvcc inside [`SITE`].
pub const NVCC_IN_SITE: &str = "nvidia/cu13/bin/nvcc";

/// The nvcc that a build script in the workspace would use, if there is one.
///
/// # Errors
/// `AUTOKERNEL_NVCC` names no file, or the nvcc that was found does not run.
pub fn find(root: &Path) -> Result<Option<Nvcc>> {
    // Nothing is remembered between runs: asking nvcc for its version takes milliseconds.
    let cache = tempfile::tempdir().context("cannot create a temporary folder: check TMPDIR")?;
    match Nvcc::locate(root, cache.path()) {
        Ok(nvcc) => Ok(Some(nvcc)),
        Err(missing) if missing.is_none_here() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
