//! `tuner tune --study URL --watch`: searches what is demanded of a study, for every kind of GPU that workers measure on.

use std::time::{Duration, Instant};

use super::args::TuneArgs;
use super::ending::Ending;
use super::error::AppError;
use super::in_use::InUse;
use super::job::Job;
use super::on_study::{Elsewhere, served};
use super::outputs::Outputs;
use super::tune_jobs::tune_jobs;
use super::work_args::process_name;
use crate::evaluate::Evaluator;
use crate::gpu::candidates;
use crate::group_sizes::GroupSizes;
use crate::regime::RegimeChoice;
use crate::stop::Stop;
use crate::study::{Kind, Link, Queue, Searcher, StudyUrl, Task, Wanted};
use crate::target::Target;

/// Between two looks for demands.
const LOOK: Duration = Duration::from_secs(1);

/// Searches until `stop` is requested, or nothing was demanded for as long as `args` say.
///
/// # Errors
/// The study cannot be used, or a search cannot begin.
pub fn watch(args: &TuneArgs, url: &StudyUrl, stop: &Stop) -> Result<Ending, AppError> {
    let name = process_name();
    errln!("{name} watches {url} for what is demanded");
    let (sizes, regime) = (args.gpu.group_sizes, args.gpu.regime);
    let task = |wanted: &Wanted, kind: &Kind| task(wanted, kind, sizes, regime);
    let mut searcher = Searcher::new(Queue::open(Link::open(url, stop)?)?, name)?;
    let (mut idle_since, mut searched) = (Instant::now(), 0_u32);
    while !stop.is_requested() {
        let Some(taken) = searcher.take(task, |target| !candidates(target).is_empty())? else {
            if args.idle.is_some_and(|idle| idle_since.elapsed().as_secs_f64() >= idle) {
                break;
            }
            std::thread::sleep(LOOK);
            continue;
        };
        let outputs = Outputs::new(&args.out.join(folder_of(&taken.kind)).join(taken.target.slug()), None);
        let evaluator = Box::new(Elsewhere::new(&taken.kind, &taken.target, sizes, regime));
        let job = Job { evaluator, target: taken.target.clone() };
        let jobs = served(url, vec![job], stop)?;
        // What others promoted meanwhile is not in use here before somebody writes it into the config.
        let ending = tune_jobs(args, InUse::load(args, None)?, &outputs, jobs, stop);
        if !matches!(ending, Ok(Ending::Finished)) {
            searcher.give_back(&taken)?;
            return ending;
        }
        searcher.finish(&taken)?;
        (idle_since, searched) = (Instant::now(), searched + 1);
    }
    errln!("{searched} searches came to their end here");
    Ok(if stop.is_requested() { Ending::Interrupted } else { Ending::Finished })
}

/// The folder of a kind of GPU.
fn folder_of(Kind { gpu, driver, nvcc, .. }: &Kind) -> String {
    let name = format!("{}_{driver}_{nvcc}", gpu.name);
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' }).collect()
}

/// The task of what is wanted on a kind of GPU.
fn task(wanted: &Wanted, kind: &Kind, sizes: GroupSizes, regime: RegimeChoice) -> Task {
    let target = Target { problem: wanted.problem.clone(), arch: kind.arch, shape: wanted.shape };
    let environment = Elsewhere::new(kind, &target, sizes, regime).about().environment.clone();
    Task { target: target.into(), environment: environment.into() }
}
