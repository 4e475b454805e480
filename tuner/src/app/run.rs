//! One target after the other: search, final, promotion.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use autokernel_codegen::config::{Config, Entry};
use autokernel_codegen::schedule::Schedule;

use super::args::TuneArgs;
use super::ending::Ending;
use super::error::AppError;
use super::in_use::InUse;
use super::job::Job;
use super::proposer::{model, proposer, strategy_name};
use crate::environment::Environment;
use crate::evaluate::{Evaluator, EvaluatorError, Hindsight};
use crate::gpu_facts::GpuFacts;
use crate::llm::{Guard, Provider};
use crate::outcome::Measurement;
use crate::promote::{self, FinalPlan, incumbent};
use crate::range::{self, Member, RangeOutcome};
use crate::report::TargetResult;
use crate::session::{Budget, Limits, Progress, Search, SearchError, Searcher, Session, StopReason, search};
use crate::stop::Stop;
use crate::store::{Reference, Store};
use crate::strategy::{Asked, Brief, Neighbours, Started};
use crate::target::Target;
use crate::trial::Trial;

/// What the targets of a run share, and what has come of them.
pub struct Run<'r> {
    args: &'r TuneArgs,
    /// What winners are held against: the config before the run.
    in_use: &'r Config,
    /// What searches are seeded from: that config and the winners so far.
    known: Config,
    store: &'r mut dyn Store,
    stop: &'r Stop,
    /// The language model, if one proposes.
    pub model: Option<Arc<Guard>>,
    progress: Progress,
    /// A result a target.
    pub results: Vec<TargetResult>,
    /// The entries that won.
    promoted: Vec<Entry>,
    /// The entries that held their place, measured anew.
    confirmed: Vec<Entry>,
    /// What was better left as it is.
    kept: Vec<Kept>,
}

/// What is in use at a target, as an entry.
struct Kept {
    target: Target,
    gpu: GpuFacts,
    entry: Entry,
}

impl<'r> Run<'r> {
    /// A run that has not begun.
    ///
    /// # Errors
    /// The language model that `args` name cannot be used.
    pub fn new(
        args: &'r TuneArgs,
        in_use: &'r Config,
        store: &'r mut dyn Store,
        stop: &'r Stop,
        transcript: &Path,
    ) -> Result<Self, AppError> {
        let (known, progress, model) = (in_use.clone(), Progress::new(), model(args, transcript, stop)?);
        Ok(Run {
            args,
            in_use,
            known,
            store,
            stop,
            model,
            progress,
            results: Vec::new(),
            promoted: Vec::new(),
            confirmed: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Tunes target after target until all are done, or one has to end early. A target whose prompt is unanswered does
    /// not keep the others from going on.
    ///
    /// # Errors
    /// A strategy cannot begin.
    pub fn tune_all(&mut self, jobs: &mut [Job]) -> Result<Ending, AppError> {
        let mut unanswered = Vec::new();
        let (all, begun) = (jobs.len(), Instant::now());
        for (index, job) in jobs.iter_mut().enumerate() {
            let result = self.tune_one(job, self.limits(begun, all - index))?;
            let ending = ending(&result.search.stopped, self.stop);
            let outcome = result.promotion.as_ref();
            if let Some(entry) = outcome.and_then(|outcome| promote::entry(outcome, job.evaluator.about())) {
                self.known.upsert(entry.clone());
                self.promoted.push(entry);
            } else if let Some(outcome) = outcome {
                let about = job.evaluator.about();
                let kept = promote::kept(outcome, &job.target, about);
                self.kept.extend(kept.map(|entry| Kept { target: job.target.clone(), gpu: about.gpu.clone(), entry }));
                self.confirmed.extend(promote::confirmed(outcome, &job.target, job.evaluator.about()));
            }
            self.results.push(result);
            match ending {
                Ending::Finished => {}
                Ending::Unanswered(replies) => unanswered.extend(replies),
                ending => return Ok(ending),
            }
        }
        Ok(if unanswered.is_empty() { Ending::Finished } else { Ending::Unanswered(unanswered) })
    }

    /// The entries to be written: those that won, those that were confirmed, and those that keep what is in use where it
    /// was not beaten. Without the latter, a winner at one shape would take the place of what serves its class at the
    /// others.
    pub fn entries(&self, in_use: &InUse) -> Vec<Entry> {
        let mut entries = [self.promoted.as_slice(), &self.confirmed].concat();
        let won = |target: &Target| {
            let class = target.problem.class();
            let same =
                |entry: &Entry| (entry.arch, entry.extents) == (target.arch, target.shape) && entry.problem == class;
            self.promoted.iter().any(same)
        };
        loop {
            let config = in_use.with(&entries);
            let is_lost = |Kept { target, gpu, entry }: &&Kept| {
                !won(target) && incumbent(&config, target, gpu).schedule != entry.schedule
            };
            match self.kept.iter().find(is_lost) {
                Some(kept) => entries.push(kept.entry.clone()),
                None => return entries,
            }
        }
    }

    /// Of each problem the schedule for the range that was asked for; `jobs` are those whose results there are.
    ///
    /// # Errors
    /// An evaluator cannot go on.
    pub fn choose_for_ranges(&mut self, jobs: &mut [Job]) -> Result<Vec<RangeOutcome>, EvaluatorError> {
        let Some(range) = self.args.range.range else { return Ok(Vec::new()) };
        let finalists = self.args.qualify.finalists;
        let mut members = Vec::new();
        for (Job { target, evaluator }, result) in jobs.iter_mut().zip(&self.results) {
            let in_use = incumbent(self.in_use, target, &evaluator.about().gpu).schedule;
            let fastest = fastest(&result.search, finalists);
            members.push(Member { target: target.clone(), evaluator: evaluator.as_mut(), in_use, fastest });
        }
        let mut outcomes = Vec::new();
        for mut group in range::groups(members, range) {
            match range::complete(&group, &self.args.range, range) {
                Ok(()) => outcomes.extend(range::meet(&mut group, range, self.args.range.range_by)?),
                Err(reason) => self.progress.note(&reason),
            }
        }
        Ok(outcomes)
    }

    /// What ends the next search, where so many are left of a run that began then: each gets as much of the time that is left.
    fn limits(&self, begun: Instant, left: usize) -> Limits {
        let end =
            self.args.minutes.and_then(|minutes| begun.checked_add(Duration::try_from_secs_f64(60.0 * minutes).ok()?));
        let share =
            |end: Instant| end.saturating_duration_since(Instant::now()) / u32::try_from(left).unwrap_or(u32::MAX);
        Limits {
            until: end.map(|end| Instant::now() + share(end)),
            patience: self.args.patience().map(|trials| trials as usize),
        }
    }

    fn tune_one(&mut self, job: &mut Job, limits: Limits) -> Result<TargetResult, AppError> {
        let Job { target, evaluator } = job;
        self.store.refresh()?;
        let brief = self.brief(target, evaluator.as_ref())?;
        let model = self.model.clone().map(|model| (model, self.reference(target, evaluator.as_mut())));
        let (mut strategy, description) = proposer(self.args, &brief, model);
        let first = self.starting(&brief);
        if !first.is_empty() {
            strategy = Box::new(Started::new(first, strategy));
        }
        let mut search = search(&mut Session {
            target,
            evaluator: evaluator.as_mut(),
            strategy: strategy.as_mut(),
            store: self.store,
            budget: Budget { evaluations: brief.evaluations, generations: brief.generations },
            limits,
            constraints: &self.args.constraints,
            seed: self.args.seed,
            stop: self.stop,
            progress: &self.progress,
        });
        let promotion = self.promotion(&mut search, evaluator.as_mut());
        let hindsight = evaluator.hindsight(target);
        Ok(TargetResult {
            strategy: description,
            origin: evaluator.origin(),
            environment: evaluator.about().environment.clone(),
            gpu: evaluator.about().gpu.clone(),
            optimum: hindsight.and_then(Hindsight::optimum),
            best_at_random_ms: hindsight.and_then(|all| all.best_at_random_ms(search.trials.len())),
            search,
            promotion,
            is_of_a_range: self.args.range.range.is_some(),
        })
    }

    /// The final, unless the search had to end early, or its schedules meet with those of other sizes.
    fn promotion(&mut self, search: &mut Search, evaluator: &mut dyn Evaluator) -> Option<promote::Outcome> {
        if self.args.range.range.is_some() || ending(&search.stopped, self.stop) != Ending::Finished {
            return None;
        }
        match self.hold_final(search, evaluator) {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                search.stopped = StopReason::Broken(error.to_string());
                None
            }
        }
    }

    /// What the journal knew before this search began: a resumed run must not learn from what came later.
    fn history(&self, target: &Target, environment: &Environment) -> Vec<Trial> {
        let searcher = Searcher { strategy: strategy_name(self.args), seed: self.args.seed };
        let class = target.problem.class();
        let own = |trial: &Trial| *trial.target == *target && searcher.made(trial);
        let related = |trial: &&Trial| {
            *trial.environment == *environment
                && trial.target.arch == target.arch
                && (*trial.target == *target || trial.target.problem.class() == class)
        };
        let before = self.store.records().trials().iter().take_while(|trial| !own(trial));
        before.filter(related).cloned().collect()
    }

    /// The final of `search`: that of the journal if the same schedules met before, or else a new one.
    fn hold_final(&mut self, search: &Search, evaluator: &mut dyn Evaluator) -> Result<promote::Outcome, SearchError> {
        let plan = FinalPlan::with_finalists(self.args.qualify.finalists);
        let known: Vec<Trial> = search.all().cloned().collect();
        let meeting = promote::Final::new(plan, &search.target, &known, self.in_use, &evaluator.about().gpu);
        let (schedules, incumbent) = (meeting.schedules(), meeting.incumbent().schedule);
        let environment = &evaluator.about().environment;
        let mut held = self.store.records().finals().iter().rev();
        let known = held.find(|held| held.answers(&search.target, environment, &schedules, incumbent));
        if let Some(known) = known.filter(|_| !self.args.final_again) {
            errln!("  the final of {} stands; --final-again holds it again", known.at);
            return Ok(meeting.decide(known));
        }
        let (held, outcome) = meeting.hold(evaluator)?;
        // What is looked up in a recording can be looked up again.
        if !evaluator.about().is_replay() {
            self.store.append_final(held)?;
        }
        Ok(outcome)
    }

    /// The time of cuBLAS, for a model to be told of: measured once and journaled, so that the next run says the same.
    fn reference(&mut self, target: &Target, evaluator: &mut dyn Evaluator) -> Option<Measurement> {
        if let Some(known) = self.store.records().reference(target, &evaluator.about().environment) {
            return Some(*known);
        }
        // A GPU that cannot measure will say so at the first trial, and a journal that cannot be written as well.
        let measured = evaluator.reference(target).ok().flatten()?;
        if !evaluator.about().is_replay() {
            let environment = evaluator.about().environment.clone();
            let reference = Reference { target: target.clone(), environment, cublas: measured };
            let _ = self.store.append_reference(reference);
        }
        Some(measured)
    }

    /// The schedules of `--start` that can be tried here; the others are named.
    fn starting(&self, brief: &Brief) -> Vec<Schedule> {
        let mut first = Vec::new();
        for &schedule in self.args.start.iter().flat_map(|start| &start.0) {
            let broken = brief.target.problem.class().check(&schedule, brief.target.arch).err();
            match broken {
                Some(broken) => self.progress.note(&format!("--start {schedule} is not tried: {broken}")),
                None if brief.space.contains(&schedule) || brief.admits(&schedule) => first.push(schedule),
                None => self
                    .progress
                    .note(&format!("--start {schedule} is not tried: it is not in the space of this search")),
            }
        }
        first
    }

    /// What the strategy is told beforehand.
    ///
    /// # Errors
    /// The options leave nothing to try.
    fn brief(&self, target: &Target, evaluator: &dyn Evaluator) -> Result<Brief, AppError> {
        let which = if evaluator.about().is_replay() { Neighbours::OtherShapes } else { Neighbours::All };
        // A model whose conversation is continued must be told what it was told before.
        let continued = self.model.as_ref().is_some_and(|model| model.repeats_itself());
        let config = if continued { self.in_use } else { &self.known };
        let space = self.args.constraints.of(evaluator.space(target));
        let space = space.map_err(|reason| AppError::Constraints { target: target.slug(), reason })?;
        let asked = Asked {
            config,
            which,
            constraints: self.args.constraints.clone(),
            history: self.history(target, &evaluator.about().environment),
            evaluations: self.args.evaluations() as usize,
            generations: self.args.generations() as usize,
            seed: self.args.seed,
        };
        Ok(asked.brief(target, evaluator.about(), space))
    }
}

/// The fastest trials that the journal has of a target.
fn fastest(search: &Search, count: usize) -> Vec<Trial> {
    let mut timed: Vec<(f64, &Trial)> = search.all().filter_map(|trial| Some((trial.cost()?, trial))).collect();
    timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    timed.into_iter().take(count).map(|(_, trial)| trial.clone()).collect()
}

/// How a run ends after a search that ended so.
fn ending(stopped: &StopReason, stop: &Stop) -> Ending {
    match stopped {
        StopReason::Broken(reason) => Ending::Broken(reason.clone()),
        StopReason::Interrupted => Ending::Interrupted,
        StopReason::Unanswered(reply) => Ending::Unanswered(vec![reply.clone()]),
        _ if stop.is_requested() => Ending::Interrupted,
        StopReason::BudgetSpent
        | StopReason::GenerationsSpent
        | StopReason::NothingLeft
        | StopReason::TimeSpent
        | StopReason::Plateau => Ending::Finished,
    }
}
