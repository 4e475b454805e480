//! What somebody wants to be fast: the kernels that a crate declares, the products that a program computed.

mod declared;
mod launch_log;
mod matching;
mod package;

use std::path::PathBuf;

use autokernel_codegen::BuildError;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::shape::Shape;

pub use launch_log::{LaunchLog, Launches, LoggedProblem};
pub use package::{Package, PackageError};

use crate::cli::TuneArgs;

/// A problem at a shape that somebody wants to be fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The function that computes it.
    pub kernel: String,
    /// What is computed.
    pub problem: Problem,
    /// At which shape.
    pub shape: Shape,
    /// The archs of the GPUs on which it was launched; none where that was a CPU, or is not known.
    pub archs: Vec<Arch>,
    /// How often it was launched; 1 where that is not known.
    pub count: u64,
}

impl Demand {
    /// The operations of all its launches: `count · 2·m·n·k`.
    pub fn weight(&self) -> f64 {
        self.count as f64 * self.shape.flops()
    }
}

/// Everything that is wanted, and what to tell people about the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demands {
    /// What is wanted; with a launch log by weight, the heaviest first.
    pub wanted: Vec<Demand>,
    /// What cannot be tuned or was left out, each with its remedy.
    pub notes: Vec<String>,
}

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

/// What `args` want by `--crate` and `--shapes-from`; `None` without either.
///
/// # Errors
/// The sources or the log cannot be read, or hold nothing.
pub fn demands(args: &TuneArgs, package: Option<&Package>) -> Result<Option<Demands>, DemandError> {
    let log = args.shapes_from.as_deref().map(LaunchLog::load).transpose()?;
    let mut demands = match (package, &log) {
        (Some(package), log) => declared::demands(args, package, log.as_ref())?,
        (None, Some(log)) => matching::of_log(log),
        (None, None) => return Ok(None),
    };
    if let Some(log) = &log {
        demands.notes.extend(log.note());
        demands.wanted.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    }
    Ok(Some(demands))
}

/// Adds `demand`, or its launches to those of the same class and shape: one tuned entry serves both.
fn add(wanted: &mut Vec<Demand>, demand: Demand) {
    let class = demand.problem.class();
    let same = |other: &&mut Demand| other.problem.class() == class && other.shape == demand.shape;
    match wanted.iter_mut().find(same) {
        Some(other) => {
            other.count = other.count.saturating_add(demand.count);
            let new = demand.archs.into_iter().filter(|arch| !other.archs.contains(arch)).collect::<Vec<_>>();
            other.archs.extend(new);
        }
        None => wanted.push(demand),
    }
}
