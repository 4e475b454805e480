//! What the build script hands to the attributes: for each problem, its kernels.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use autokernel_core::{LaunchPlan, Portfolio, Tuned};
use serde::{Deserialize, Serialize};

use crate::arch::Arch;
use crate::block::Block;
use crate::function::FunctionText;
use crate::nvcc::PtxasReport;
use crate::problem::Problem;
use crate::schedule::Schedule;

/// The environment variable through which the manifest's path reaches the attributes.
pub const MANIFEST_ENV: &str = "AUTOKERNEL_MANIFEST";

/// Everything the attributes of one crate need, as one JSON file in `OUT_DIR`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the codegen crate that wrote it; the attribute's must be the same.
    pub codegen: String,
    /// The folder of the crate it was written for: the variable that names the manifest may be inherited by a cargo
    /// that another crate's test or build script starts.
    pub crate_root: PathBuf,
    /// nvcc's version, if there was one.
    pub nvcc: Option<String>,
    /// Why nothing was compiled, with the remedy.
    pub not_compiled: Option<String>,
    /// The crate's own functions, which bodies call.
    pub functions: Vec<FunctionText>,
    /// What stands where no kernel can.
    pub misplaced: Vec<Misplaced>,
    /// By [`Problem::key`].
    pub plans: BTreeMap<String, Plan>,
}

/// A kernel in a block that holds no modules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Misplaced {
    /// As [`Declared::name`](super::Declared::name).
    pub name: String,
    /// [`Problem::key`].
    pub key: String,
    /// The block.
    pub inside: Block,
}

/// The kernels of one problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The problem.
    pub problem: Problem,
    /// For each arch the tuned entries and the portfolio, or one default.
    pub variants: Vec<Variant>,
    /// Of each arch that has a portfolio, by what is chosen among its images.
    pub portfolios: Vec<Portfolio>,
}

/// One compiled kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The target.
    pub arch: Arch,
    /// What it was tuned for; none for an image of the portfolio and for the arch's default schedule.
    pub tuned: Option<Tuned>,
    /// Measured over predicted time of an image of the portfolio.
    pub portfolio: Option<f64>,
    /// The schedule.
    pub schedule: Schedule,
    /// How it is launched.
    pub plan: LaunchPlan,
    /// The image; none where nothing was compiled.
    pub image: Option<ImageFiles>,
}

impl Variant {
    /// The name of its first kernel, which no kernel of another image for its arch has.
    pub fn symbol(&self) -> &str {
        self.plan.kernels.first().map_or("", |kernel| &kernel.symbol)
    }
}

/// A compiled image in `OUT_DIR`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageFiles {
    /// PTX.
    pub ptx: PathBuf,
    /// Machine code, for archs that were tuned.
    pub cubin: Option<PathBuf>,
    /// The kernel's resources.
    pub report: PtxasReport,
}

/// A manifest that could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// There is no build script, or it does not call autokernel.
    #[error(
        "this crate's build script does not build its kernels; add a build.rs with\n    \
         fn main() {{ autokernel_codegen::Build::new().run() }}\nand `autokernel-codegen` under [build-dependencies]"
    )]
    NoBuildScript,
    /// It cannot be read, or is of another version.
    #[error("the kernel manifest {} is stale ({reason}); run `cargo clean -p` on this crate and build again", .path.display())]
    Stale {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Manifest {
    /// The manifest of the crate that is being compiled, found through [`MANIFEST_ENV`].
    ///
    /// # Errors
    /// The crate has no build script, or the manifest is of another version or unreadable.
    pub fn of_this_crate() -> Result<Self, ManifestError> {
        let path = std::env::var_os(MANIFEST_ENV).ok_or(ManifestError::NoBuildScript)?;
        let manifest = Manifest::load(Path::new(&path))?;
        match std::env::var_os("CARGO_MANIFEST_DIR") {
            Some(root) if Path::new(&root) != manifest.crate_root => Err(ManifestError::NoBuildScript),
            _ => Ok(manifest),
        }
    }

    /// Reads the manifest at `path`.
    ///
    /// # Errors
    /// It cannot be read or is of another version.
    pub fn load(path: &Path) -> Result<Self, ManifestError> {
        let stale = |reason: String| ManifestError::Stale { path: path.to_owned(), reason };
        let text = std::fs::read(path).map_err(|error| stale(error.to_string()))?;
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| stale(error.to_string()))?;
        let ours = env!("CARGO_PKG_VERSION");
        if manifest.codegen != ours {
            let theirs = &manifest.codegen;
            return Err(stale(format!("it was written by autokernel-codegen {theirs}, this is {ours}")));
        }
        Ok(manifest)
    }
}
