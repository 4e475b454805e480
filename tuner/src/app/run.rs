//! One target after the other: search, final, promotion.

use autokernel_codegen::config::{Config, Entry};
use autokernel_codegen::schedule::Schedule;

use super::error::AppError;
use super::proposer::proposer;
use super::select::Job;
use super::tune::Ending;
use crate::cli::TuneArgs;
use crate::evaluate::Evaluator;
use crate::journal::Journal;
use crate::promote;
use crate::report::TargetResult;
use crate::session::{Budget, Progress, Search, Session, Stop, StopReason, search};
use crate::strategy::{Brief, Known, Neighbours, neighbours};
use crate::target::Target;

/// What the targets of a run share, and what has come of them.
pub struct Run<'r> {
    args: &'r TuneArgs,
    /// What winners are held against: the config before the run.
    in_use: &'r Config,
    /// What searches are seeded from: that config and the winners so far.
    known: Config,
    journal: &'r mut Journal,
    stop: &'r Stop,
    progress: Progress,
    /// A result a target.
    pub results: Vec<TargetResult>,
    /// The entries that won.
    pub promoted: Vec<Entry>,
}

impl<'r> Run<'r> {
    /// A run that has not begun.
    pub fn new(args: &'r TuneArgs, in_use: &'r Config, journal: &'r mut Journal, stop: &'r Stop) -> Self {
        let (known, progress) = (in_use.clone(), Progress::new());
        Run { args, in_use, known, journal, stop, progress, results: Vec::new(), promoted: Vec::new() }
    }

    /// Tunes target after target until all are done, or one has to end early.
    ///
    /// # Errors
    /// A strategy cannot begin.
    pub fn tune_all(&mut self, jobs: Vec<Job>) -> Result<Ending, AppError> {
        for mut job in jobs {
            let result = self.tune_one(&mut job)?;
            let ending = ending(&result.search.stopped, self.stop);
            let outcome = result.promotion.as_ref();
            if let Some(entry) = outcome.and_then(|outcome| promote::entry(outcome, job.evaluator.as_ref())) {
                self.known.upsert(entry.clone());
                self.promoted.push(entry);
            }
            self.results.push(result);
            if ending != Ending::Finished {
                return Ok(ending);
            }
        }
        Ok(Ending::Finished)
    }

    fn tune_one(&mut self, job: &mut Job) -> Result<TargetResult, AppError> {
        let Job { target, evaluator } = job;
        let brief = self.brief(target, evaluator.as_ref());
        let (mut strategy, description) = proposer(self.args, &brief)?;
        let mut search = search(&mut Session {
            target,
            evaluator: evaluator.as_mut(),
            strategy: strategy.as_mut(),
            journal: self.journal,
            budget: Budget { evaluations: brief.evaluations, generations: brief.generations },
            stop: self.stop,
            progress: &self.progress,
        });
        let promotion = self.promotion(&mut search, evaluator.as_mut());
        Ok(TargetResult {
            strategy: description,
            origin: evaluator.origin(),
            environment: evaluator.environment().clone(),
            gpu: evaluator.gpu().clone(),
            optimum: evaluator.optimum(target),
            search,
            promotion,
        })
    }

    /// The final, unless the search had to end early.
    fn promotion(&self, search: &mut Search, evaluator: &mut dyn Evaluator) -> Option<promote::Outcome> {
        if ending(&search.stopped, self.stop) != Ending::Finished {
            return None;
        }
        match promote::hold_final(search, self.in_use, evaluator) {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                search.stopped = StopReason::Broken(error.to_string());
                None
            }
        }
    }

    /// What the strategy is told beforehand.
    fn brief(&self, target: &Target, evaluator: &dyn Evaluator) -> Brief {
        let space = evaluator.space(target);
        let which = if evaluator.is_replay() { Neighbours::OtherShapes } else { Neighbours::All };
        let mut known = neighbours(&self.known, target, which);
        let default = Schedule::default_for(&target.problem.class(), target.arch);
        known.push(Known { schedule: default, origin: format!("default for {}", target.arch) });
        known.retain(|known| space.contains(&known.schedule));
        Brief {
            target: target.clone(),
            gpu: evaluator.gpu().clone(),
            space: space.into(),
            known,
            evaluations: self.args.evaluations as usize,
            generations: self.args.generations as usize,
            seed: self.args.seed,
        }
    }
}

/// How a run ends after a search that ended so.
fn ending(stopped: &StopReason, stop: &Stop) -> Ending {
    match stopped {
        StopReason::Broken(reason) => Ending::Broken(reason.clone()),
        StopReason::Interrupted => Ending::Interrupted,
        _ if stop.is_requested() => Ending::Interrupted,
        StopReason::BudgetSpent | StopReason::GenerationsSpent | StopReason::NothingLeft => Ending::Finished,
    }
}
