//! The script that stands in for nvcc.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::arch::Arch;
use crate::emit::KernelSource;
use crate::epilogue::Epilogue;
use crate::nvcc::{Compiler, Nvcc};
use crate::problem::{Layout, Problem};

/// A temporary folder with a stand-in and a cache.
pub struct Fake {
    folder: TempDir,
    behaviour: &'static str,
}

impl Fake {
    /// A stand-in that does what `behaviour` says: see `fake_nvcc.sh`.
    pub fn new(behaviour: &'static str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/nvcc/tests/fake_nvcc.sh");
        let folder = tempfile::tempdir().unwrap();
        symlink(script, folder.path().join(behaviour)).unwrap();
        Fake { folder, behaviour }
    }

    pub fn program(&self) -> PathBuf {
        self.folder.path().join(self.behaviour)
    }

    pub fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    pub fn compiler(&self) -> Compiler {
        self.compiler_caching_in(self.cache())
    }

    pub fn compiler_caching_in(&self, cache: PathBuf) -> Compiler {
        Compiler::new(Nvcc { path: self.program(), version: "13.0.1".to_owned() }, cache)
    }

    /// How often it ran.
    pub fn runs(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("runs")).map_or(0, |log| log.lines().count())
    }

    /// Whether a process that it started outlived it.
    pub fn survived(&self) -> bool {
        self.folder.path().join("survived").exists()
    }

    /// What lies in the cache: entries and work folders.
    pub fn cached(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.cache()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// A kernel to compile.
pub fn kernel() -> KernelSource {
    let problem = Problem::matmul(crate::dtype::Dtype::Bf16, Layout::Nt, Epilogue::identity());
    problem.emit(&problem.class().default_schedule(Arch::SM_80)).unwrap().0
}
