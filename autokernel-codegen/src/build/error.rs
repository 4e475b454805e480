//! Why a build ends.

use std::path::{Path, PathBuf};

use crate::config::ConfigError;
use crate::nvcc::{CompileError, LocateError};

/// A build that failed.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The config is broken.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// `AUTOKERNEL_ARCHS` is not a list of archs.
    #[error("AUTOKERNEL_ARCHS: {0}")]
    Archs(#[from] crate::arch::ParseArchError),
    /// The build script names no arch.
    #[error("Build::archs is given no GPU to compile for; name some, or leave it out for those of the config")]
    NoArch,
    /// `AUTOKERNEL_ARCHS` is `native`, and no GPU is to be seen.
    #[error("AUTOKERNEL_ARCHS is `native`, and nvidia-smi names no GPU ({0}); name the archs, as in `sm_80,sm_90a`")]
    NoNativeArch(String),
    /// `AUTOKERNEL_IMAGES` is no number of images, nor a list of them.
    #[error(
        "AUTOKERNEL_IMAGES is `{0}`, and not how many images a kernel carries for each GPU, 1 or more, as in `2` or `2,sm_80=1`; \
         unset it for all of them"
    )]
    Images(String),
    /// nvcc was named and cannot be used.
    #[error(transparent)]
    Nvcc(LocateError),
    /// A kernel does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Not called from a build script.
    #[error("{0} is not set; call this from a build script")]
    NotABuildScript(&'static str),
    /// The manifest holds what JSON cannot.
    #[error("{}: {reason}; move the crate and its target folder to paths of UTF-8", .path.display())]
    Unwritten {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        reason: serde_json::Error,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}; check that it exists and that the target folder is writable", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl BuildError {
    /// A manifest that JSON cannot hold: one of its paths is no UTF-8.
    pub(super) fn unwritten(path: &Path) -> impl FnOnce(serde_json::Error) -> BuildError {
        let path = path.to_owned();
        move |reason| BuildError::Unwritten { path, reason }
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> BuildError {
        let path = path.to_owned();
        move |source| BuildError::Io { path, source }
    }
}

/// A variable that Cargo sets for build scripts.
pub(super) fn env(name: &'static str) -> Result<std::ffi::OsString, BuildError> {
    std::env::var_os(name).ok_or(BuildError::NotABuildScript(name))
}
