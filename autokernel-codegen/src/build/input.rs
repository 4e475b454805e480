//! What a build compiles: where it looks for declarations, and the config that it reads.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::error::BuildError;
use super::scan;
use crate::arch::Arch;
use crate::problem::Problem;

/// Compiles the kernels that a crate declares. The `main` of a user's build.rs is one line:
///
/// ```no_run
/// autokernel_codegen::Build::new().run();
/// ```
///
/// Reads `best_config.json` beside `Cargo.toml` where there is one; classes and archs that it does not cover take the
/// entries shipped with autokernel. Without nvcc the crate still builds: its kernels run on the CPU backend.
///
/// One that is not run is a warning of rustc's:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # fn main() {
/// autokernel_codegen::Build::new();
/// # }
/// ```
///
/// The environment has the last word, for all crates of a build:
///
/// | variable | what it says |
/// |---|---|
/// | `AUTOKERNEL_ARCHS` | the GPUs to compile for: `sm_80,sm_90a`, or `native`, those of this machine |
/// | `AUTOKERNEL_IMAGES` | how many images each kernel carries for each of them, in place of all: `2`, or `2,sm_80=1` |
/// | `AUTOKERNEL_NVCC` | the nvcc to use |
/// | `AUTOKERNEL_SKIP_NVCC` | `1`: compile no kernel, as for an editor's `cargo check` |
/// | `AUTOKERNEL_CACHE_DIR` | where compiled kernels are kept; `autokernel` in the user's folder for caches if unset |
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `run`"]
pub struct Build {
    pub(super) sources: Vec<PathBuf>,
    pub(super) config: Option<PathBuf>,
    pub(super) archs: Option<Vec<Arch>>,
    pub(super) most_images: Option<NonZeroUsize>,
    pub(super) is_whole: Option<fn(&Problem) -> bool>,
}

impl Build {
    /// A build of the kernels declared below `src`, and in the `tests`, `benches` and `examples` beside it.
    pub fn new() -> Self {
        Build::default()
    }

    /// Looks in the file or folder `path`, relative to the crate, in place of the default folders. May be repeated.
    pub fn source(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(path.into());
        self
    }

    /// Reads this file, relative to the crate, in place of `best_config.json`.
    pub fn config(mut self, path: impl Into<PathBuf>) -> Self {
        self.config = Some(path.into());
        self
    }

    /// Compiles for these GPUs, in place of the archs that the config names; `AUTOKERNEL_ARCHS` replaces them in turn.
    pub fn archs(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        self.archs = Some(archs.into_iter().collect());
        self
    }

    /// Of the images among which a launch chooses at sizes that nobody tuned, each kernel carries at most so many for each GPU: the one
    /// that is safe everywhere and the most useful others, of those that share no image with others first. Builds take less time, and launches as much more as the missing ones would
    /// have saved. Entries that were tuned for the kernel's own class are carried all the same. `AUTOKERNEL_IMAGES` has the last word.
    pub fn most_images(mut self, most: NonZeroUsize) -> Self {
        self.most_images = Some(most);
        self
    }

    /// Kernels for which `is_whole` holds carry all their images, whatever [`most_images`](Self::most_images) and `AUTOKERNEL_IMAGES`
    /// say: for tests of what a launch chooses.
    pub fn all_images_of(mut self, is_whole: fn(&Problem) -> bool) -> Self {
        self.is_whole = Some(is_whole);
        self
    }

    /// The config that this build of the crate at `root` reads first.
    pub fn config_of(&self, root: &Path) -> PathBuf {
        root.join(self.config.as_deref().unwrap_or(Path::new("best_config.json")))
    }

    /// The files and folders in which this build looks for declarations.
    pub(super) fn sources_of(&self, root: &Path) -> Vec<PathBuf> {
        if !self.sources.is_empty() {
            return self.sources.iter().map(|path| root.join(path)).collect();
        }
        let defaults = ["src", "tests", "benches", "examples"].map(|folder| root.join(folder));
        defaults.into_iter().filter(|folder| folder.is_dir()).collect()
    }

    /// The Rust files among them.
    pub(super) fn files_of(&self, root: &Path) -> Result<Vec<PathBuf>, BuildError> {
        let mut files = Vec::new();
        for source in self.sources_of(root) {
            files.extend(scan::rust_files(&source).map_err(BuildError::io(&source))?);
        }
        Ok(files)
    }
}
