//! What the options ask for, out of what can be measured.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::args::TuneArgs;
use super::error::AppError;
use super::job::Job;
use super::on_gpu::{self, Wanted};
use super::on_study;
use super::replay;
use crate::checkout::own_spaces;
use crate::demand::{Demand, Demands};
use crate::evaluate::EvaluatorError;
use crate::filter::Filter;
use crate::folder;
use crate::gate::{Check, Gate, Gated};
use crate::objective::Objective;
use crate::replay::{Library, Recording, Replay};
use crate::stop::Stop;
use crate::target::Target;

/// What a run does, and what it cannot do.
#[derive(Default)]
pub struct Selection {
    /// The jobs, in order.
    pub jobs: Vec<Job>,
    /// What was asked for and cannot be tuned here, each with its remedy.
    pub notes: Vec<String>,
}

/// The jobs that `args` ask for, each behind the gate that they ask for.
///
/// # Errors
/// A recording cannot be used, there is none, nothing can be tuned, or nothing can be checked.
pub fn select(args: &TuneArgs, demands: Option<Demands>, stop: &Stop) -> Result<Selection, AppError> {
    let mut selection = measurable(args, demands, stop)?;
    if let Some(url) = &args.source.study {
        selection.jobs = on_study::served(url, selection.jobs, stop)?;
    }
    if let Some(Check::Emulate) = args.check {
        let gate = Arc::new(Gate::open(Path::new("."), &folder::kernels(&args.out), args.gpu.compile_threads())?);
        let behind =
            |Job { target, evaluator }| Job { target, evaluator: Box::new(Gated::new(Arc::clone(&gate), evaluator)) };
        selection.jobs = selection.jobs.into_iter().map(behind).collect();
    }
    Ok(selection)
}

/// The jobs that `args` ask for: on this machine's GPU if there is one, else every recorded shape that passes the
/// filters. With `demands`, theirs alone.
///
/// # Errors
/// A recording cannot be used, there is none, or nothing can be tuned.
fn measurable(args: &TuneArgs, demands: Option<Demands>, stop: &Stop) -> Result<Selection, AppError> {
    let library = Library::load(&args.spaces.clone().unwrap_or_else(own_spaces))?;
    let demands = demands.map(|demands| heaviest(&args.filter, args.demand.top, demands));
    let recorded = || library.recordings.iter().flat_map(|(_, recording)| targets(recording));
    let wanted_here = match &demands {
        Some(Demands { wanted, .. }) => Wanted::Exactly(wanted),
        None => Wanted::Described(recorded().filter(|target| args.filter.takes(target)).collect()),
    };
    let jobs = match &args.source.study {
        Some(url) if args.spaces.is_none() && args.gpu.gpus.is_none() => on_study::jobs(args, url, &wanted_here, stop)?,
        _ => None,
    };
    let jobs = match jobs {
        Some(jobs) => Some(jobs),
        None => on_gpu::jobs(args, &wanted_here)?,
    };
    if let Some(jobs) = jobs {
        return Ok(Selection { jobs, notes: demands.map(|demands| demands.notes).unwrap_or_default() });
    }
    if args.objective == Objective::Energy {
        return Err(AppError::Evaluator(EvaluatorError {
            reason: "nothing that is recorded says what energy a launch took".to_owned(),
            remedy: "leave --objective out, or tune on a GPU, with nvcc".to_owned(),
        }));
    }
    let Some(Demands { wanted: demanded, notes }) = demands else {
        let jobs = replays(args, &library, |target| args.filter.takes(target));
        return if !jobs.is_empty() { Ok(Selection { jobs, notes: Vec::new() }) } else { Err(nothing(library)) };
    };
    let mut selection = Selection { jobs: Vec::new(), notes };
    for demand in &demanded {
        let jobs =
            replays(args, &library, |target| replay::serves(target, demand) && args.filter.arch.admits(target.arch));
        if jobs.is_empty() {
            selection.notes.push(replay::missing(demand, recorded()));
        }
        selection.jobs.extend(jobs);
    }
    if selection.jobs.is_empty() {
        let notes =
            if selection.notes.is_empty() { vec!["the filters leave none".to_owned()] } else { selection.notes };
        return Err(AppError::NothingTunable { notes: notes.join("\n") });
    }
    Ok(selection)
}

/// A job for each recorded target that `is_wanted`.
fn replays(args: &TuneArgs, library: &Library, is_wanted: impl Fn(&Target) -> bool) -> Vec<Job> {
    let delay = Duration::from_millis(args.replay_delay_ms);
    let mut jobs = Vec::new();
    for (name, recording) in &library.recordings {
        for target in targets(recording).filter(&is_wanted) {
            let evaluator = Replay::new(Arc::clone(recording), name.clone()).with_delay(delay);
            jobs.push(Job { target, evaluator: Box::new(evaluator) });
        }
    }
    jobs
}

fn nothing(library: Library) -> AppError {
    if library.recordings.is_empty() {
        return AppError::NoSpaces { folder: library.folder };
    }
    let all = library.recordings.iter().flat_map(|(_, recording)| targets(recording));
    let recorded = all.map(|target| format!("  {}", describe(&target))).collect::<Vec<_>>().join("\n");
    AppError::NothingSelected { recorded }
}

/// The demands that pass the filters; with `--top` the first of them, with a note of what is left out.
pub fn heaviest(filter: &Filter, top: Option<u32>, demands: Demands) -> Demands {
    let Demands { mut wanted, mut notes } = demands;
    wanted.retain(|demand| filter.passes(&demand.problem, demand.shape));
    let top = top.map_or(wanted.len(), |top| top as usize);
    if top < wanted.len() {
        let weight = |demands: &[Demand]| demands.iter().map(Demand::weight).sum::<f64>();
        let share = 100.0 * weight(&wanted[..top]) / weight(&wanted);
        notes.push(format!("--top {top}: {top} of {} shapes, with {share:.0} % of the operations", wanted.len()));
        wanted.truncate(top);
    }
    Demands { wanted, notes }
}

fn targets(recording: &Recording) -> impl Iterator<Item = Target> + '_ {
    let target = |shape| Target { problem: recording.problem.clone(), arch: recording.arch, shape };
    recording.shapes.iter().map(move |recorded| target(recorded.shape))
}

fn describe(target: &Target) -> String {
    format!("--problem {} --shape {} --arch {}", target.problem.class().slug(), target.shape, target.arch)
}
