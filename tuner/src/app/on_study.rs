//! What `tuner tune --study` does: the same as elsewhere, but trials are rows of a database, and workers make them.

use std::cell::RefCell;
use std::rc::Rc;

use autokernel_codegen::schedule::Schedule;

use super::args::TuneArgs;
use super::error::AppError;
use super::job::Job;
use super::on_gpu::{self, Wanted};
use crate::environment::{Environment, kernel_sources};
use crate::evaluate::{About, Contender, Done, Evaluator, EvaluatorError, Final, Measurable, Rounds};
use crate::gpu::candidates;
use crate::group_sizes::GroupSizes;
use crate::intents::Intents;
use crate::numbers;
use crate::objective::Objective;
use crate::outcome::Measurement;
use crate::regime::RegimeChoice;
use crate::stop::Stop;
use crate::store::Store;
use crate::study::{Kind, Link, Queue, Remote, Scope, Study, StudyUrl, Task};
use crate::target::Target;

/// The trials of the study at `url` that `jobs` learn from.
///
/// # Errors
/// It cannot be read.
pub fn store(url: &StudyUrl, jobs: &[Job], stop: &Stop) -> Result<Box<dyn Store>, AppError> {
    let task = |job: &Job| Task {
        target: job.target.clone().into(),
        environment: job.evaluator.about().environment.clone().into(),
    };
    let scope = Scope::Searches(jobs.iter().map(task).collect());
    Ok(Box::new(Study::read(Queue::open(Link::open(url, stop)?)?, scope)?))
}

/// `jobs`, measured by the workers of the study at `url`.
///
/// # Errors
/// It cannot be reached.
pub fn served(url: &StudyUrl, jobs: Vec<Job>, stop: &Stop) -> Result<Vec<Job>, AppError> {
    let queue = Rc::new(RefCell::new(Queue::open(Link::open(url, stop)?)?));
    let remote = |Job { target, evaluator }| {
        let evaluator = Remote::new(Rc::clone(&queue), evaluator, stop.clone());
        Job { target, evaluator: Box::new(evaluator) as Box<dyn Evaluator> }
    };
    Ok(jobs.into_iter().map(remote).collect())
}

/// The jobs on the kind of GPU that most workers of the study at `url` measure on; none if all of them replay.
///
/// # Errors
/// It cannot be read.
pub fn jobs(args: &TuneArgs, url: &StudyUrl, wanted: &Wanted<'_>, stop: &Stop) -> Result<Option<Vec<Job>>, AppError> {
    let mut queue = Queue::open(Link::open(url, stop)?)?;
    let lease = queue.policy().lease;
    let serves = |kind: &Kind| args.filter.arch.admits(kind.arch);
    let Some(kind) = Kind::all(queue.link(), lease)?.into_iter().find(serves) else { return Ok(None) };
    let targets = on_gpu::targets(&args.filter, wanted, kind.arch);
    let sizes = args.gpu.group_sizes;
    let job =
        |target: Target| Job { evaluator: Box::new(Elsewhere::new(&kind, &target, sizes, args.gpu.regime)), target };
    let jobs: Vec<Job> = targets.into_iter().map(job).collect();
    Ok((!jobs.is_empty()).then_some(jobs))
}

/// A GPU of another machine, of which all is known but how to measure on it.
pub struct Elsewhere {
    about: About,
}

impl Elsewhere {
    /// A GPU of `kind`, for `target`, with groups of those `sizes` if it has groups, in the state that `regime` says: workers that draw
    /// others, or time in another, do not serve it.
    pub fn new(kind: &Kind, target: &Target, sizes: GroupSizes, regime: RegimeChoice) -> Self {
        let Kind { gpu, driver, nvcc, .. } = kind.clone();
        let kernels = kernel_sources(&target.problem.class());
        let objective = Objective::default();
        let environment = Environment {
            regime: regime.of(target, &gpu, objective),
            gpu: gpu.name.clone(),
            driver,
            nvcc,
            kernels,
            objective,
            group_sizes: if numbers::has_groups(&target.problem) { sizes } else { GroupSizes::default() },
        };
        Elsewhere { about: About { environment, gpu, recorded_on: None, measurable: Measurable::Legal } }
    }
}

impl Evaluator for Elsewhere {
    fn about(&self) -> &About {
        &self.about
    }

    fn origin(&self) -> String {
        format!("measured elsewhere on {}", self.about.gpu.name)
    }

    fn space(&self, target: &Target) -> Vec<Schedule> {
        candidates(target)
    }

    fn evaluate(&mut self, _: &Target, _: &[Schedule], _: Option<&Intents>, _: Done<'_>) -> Result<(), EvaluatorError> {
        Err(not_here())
    }

    fn compare(&mut self, _: &Target, _: &[Contender], _: Rounds) -> Result<Vec<Final>, EvaluatorError> {
        Err(not_here())
    }

    fn reference(&mut self, _: &Target) -> Result<Option<Measurement>, EvaluatorError> {
        Err(not_here())
    }
}

fn not_here() -> EvaluatorError {
    EvaluatorError {
        reason: "the GPU is on another machine".to_owned(),
        remedy: "start `tuner work --study URL` there".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::Problem;

    use super::*;

    #[test]
    fn groups_are_of_the_sizes_that_were_asked_for_and_what_has_none_is_as_always() {
        let gpu = serde_json::from_str(crate::chosen::tests::H200).unwrap();
        let kind = Kind { gpu, arch: Arch::SM_90A, driver: "1".to_owned(), nvcc: "2".to_owned() };
        let sizes = |problem: &Problem| {
            let target = Target { problem: problem.clone(), arch: kind.arch, shape: extents(1, 2, 3) };
            Elsewhere::new(&kind, &target, GroupSizes::Even, RegimeChoice::Auto).about().environment.group_sizes
        };
        assert_eq!(numbers::tests::grouped().each_ref().map(sizes), [GroupSizes::Even; 3]);
        assert!(Problem::built_in().iter().all(|problem| sizes(problem).is_zipf()));
    }
}
