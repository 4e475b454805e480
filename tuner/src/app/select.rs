//! What the options ask for, out of what can be measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::AppError;
use crate::cli::TuneArgs;
use crate::evaluate::Evaluator;
use crate::gpu;
use crate::replay::{Library, Recording, Replay};
use crate::target::Target;

/// A target with the evaluator that measures it.
pub struct Job {
    /// What is tuned.
    pub target: Target,
    /// Who measures.
    pub evaluator: Box<dyn Evaluator>,
}

/// The jobs that `args` ask for: on this machine's GPU if there is one, else every recorded shape that passes the
/// filters.
///
/// # Errors
/// A recording cannot be used, there is none, or none passes.
pub fn jobs(args: &TuneArgs) -> Result<Vec<Job>, AppError> {
    let library = Library::load(&args.spaces.clone().unwrap_or_else(own_spaces))?;
    let recorded = library.recordings.iter().flat_map(|(_, recording)| targets(recording));
    if let Some(jobs) = gpu::tuning::jobs(args, recorded.filter(|target| args.filter.takes(target))) {
        return Ok(jobs);
    }
    if library.recordings.is_empty() {
        return Err(AppError::NoSpaces { folder: library.folder });
    }
    let delay = Duration::from_millis(args.replay_delay_ms);
    let mut jobs = Vec::new();
    for (name, recording) in &library.recordings {
        for target in targets(recording).filter(|target| args.filter.takes(target)) {
            let evaluator = Replay::new(Arc::clone(recording), name.clone()).with_delay(delay);
            jobs.push(Job { target, evaluator: Box::new(evaluator) });
        }
    }
    if jobs.is_empty() {
        let all = library.recordings.iter().flat_map(|(_, recording)| targets(recording));
        let recorded = all.map(|target| format!("  {}", describe(&target))).collect::<Vec<_>>().join("\n");
        return Err(AppError::NothingSelected { recorded });
    }
    Ok(jobs)
}

/// The recordings that come with the tuner: in its sources, or where a pack for GPU machines was unpacked.
pub fn own_spaces() -> PathBuf {
    match std::env::var_os("AUTOKERNEL_ROOT") {
        Some(root) => Path::new(&root).join("tuner/spaces"),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("spaces"),
    }
}

fn targets(recording: &Recording) -> impl Iterator<Item = Target> + '_ {
    let target = |shape| Target { problem: recording.problem.clone(), arch: recording.arch, shape };
    recording.shapes.iter().map(move |recorded| target(recorded.shape))
}

fn describe(target: &Target) -> String {
    format!("--problem {} --shape {} --arch {}", target.problem.class().slug(), target.shape, target.arch)
}
