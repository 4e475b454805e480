//! Why nothing can be read from a crate or a launch log.

use std::path::PathBuf;

use autokernel_codegen::BuildError;

use super::package::PackageError;

/// Why nothing can be read from a crate or a launch log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemandError {
    /// There is no such crate.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// Its sources cannot be read.
    #[error(transparent)]
    Sources(#[from] BuildError),
    /// It declares no kernel.
    #[error(
        "{} declares no kernel; write `#[autokernel::matmul]` or `#[autokernel::fused_matmul(…)]` on a function below \
         src, tests, benches or examples, or where its build.rs says `Build::new().source(\"…\")`",
        .0.display()
    )]
    NothingDeclared(PathBuf),
    /// The launch log cannot be read.
    #[error("{}: {source}; record one with AUTOKERNEL_RECORD={} in the environment of your program", .path.display(), .path.display())]
    LaunchLog {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No line of it is a launch.
    #[error("{}: no launch in it{reason}; run your program with AUTOKERNEL_RECORD={} in its environment", .path.display(), .path.display())]
    NoLaunches {
        /// The file.
        path: PathBuf,
        /// What is wrong with its lines, if there are any.
        reason: String,
    },
}
