//! The nvcc of kernels that are compiled when a test runs.

use std::path::{Path, PathBuf};

use autokernel_codegen::nvcc::{Compiler, Nvcc};

/// An nvcc that keeps its images in `AUTOKERNEL_CACHE_DIR`, or in `folder`.
///
/// # Errors
/// There is none; the text says where it was looked for.
pub fn compiler(folder: &str) -> Result<Compiler, String> {
    let cache = std::env::var_os("AUTOKERNEL_CACHE_DIR").map_or_else(|| folder.into(), PathBuf::from);
    let nvcc = Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache).map_err(|error| error.to_string())?;
    Ok(Compiler::new(nvcc, cache))
}
