//! The loop.

use std::collections::HashMap;
use std::ops::ControlFlow;

use autokernel_codegen::schedule::Schedule;

use super::found::Search;
use super::generations::{Budget, Generations};
use super::limits::Limits;
use super::memory::{Memory, Searcher};
use super::progress::Progress;
use super::reason::StopReason;
use crate::constraints::Constraints;
use crate::environment::{Environment, timestamp};
use crate::evaluate::{Evaluated, Evaluator, EvaluatorError};
use crate::outcome::{Failure, Outcome};
use crate::proposer::Proposer;
use crate::stop::Stop;
use crate::store::{Store, StoreError};
use crate::strategy::{Proposal, Strategy};
use crate::target::Target;
use crate::trial::{self, Trial};

/// What a search works with.
pub struct Session<'s> {
    /// What is tuned.
    pub target: &'s Target,
    /// Who measures.
    pub evaluator: &'s mut dyn Evaluator,
    /// Who proposes.
    pub strategy: &'s mut dyn Strategy,
    /// What remembers.
    pub store: &'s mut dyn Store,
    /// What may be spent.
    pub budget: Budget,
    /// What ends it before.
    pub limits: Limits,
    /// What may be tried.
    pub constraints: &'s Constraints,
    /// What decides the strategy's random choices.
    pub seed: u64,
    /// Whether somebody wants it to end.
    pub stop: &'s Stop,
    /// Who tells the person.
    pub progress: &'s Progress,
}

/// Why a search had to end, beside its own reasons.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The evaluator cannot go on.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// The trials cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Searches until the budget is spent, the strategy has nothing left, or somebody stops it.
///
/// Never fails: what was tried before a fault counts, and [`Search::stopped`] names the fault.
pub fn search(session: &mut Session<'_>) -> Search {
    let searcher = Searcher { strategy: session.strategy.name(), seed: session.seed };
    let environment = &session.evaluator.about().environment;
    let mut memory = Memory::new(session.store.records(), session.target, environment, searcher, session.constraints);
    let mut search = Search {
        target: session.target.clone(),
        trials: recall(session, &memory),
        elsewhere: Vec::new(),
        left_out: None,
        evaluated: 0,
        stopped: StopReason::BudgetSpent,
    };
    session.progress.begin(session.target, session.budget.evaluations, &search.trials);
    let mut plan = Generations::new(session.budget, &search.trials);
    while let Some(generation) = plan.next(&search.trials) {
        if let ControlFlow::Break(reason) = run_generation(session, generation, &mut memory, &mut plan, &mut search) {
            search.stopped = reason;
            break;
        }
    }
    if search.stopped == StopReason::BudgetSpent && search.trials.len() < session.budget.evaluations {
        search.stopped = StopReason::GenerationsSpent;
    }
    search.elsewhere = memory.beside(&search.trials);
    search.left_out = left_out(session);
    session.progress.end(&search);
    search
}

/// The fastest trial that the journal has of a schedule that the search may not try.
fn left_out(session: &Session<'_>) -> Option<Trial> {
    let environment = &session.evaluator.about().environment;
    let known = session.store.records().trials_of(session.target, environment);
    trial::fastest(known.filter(|trial| !session.constraints.admit(&trial.schedule))).cloned()
}

/// What a strategy that does not repeat itself must be told of an earlier run. Its own trials count as this run's.
fn recall(session: &mut Session<'_>, memory: &Memory) -> Vec<Trial> {
    if session.strategy.repeats_itself() {
        return Vec::new();
    }
    session.strategy.tell(memory.trials());
    memory.own().cloned().collect()
}

fn run_generation(
    session: &mut Session<'_>,
    generation: u32,
    memory: &mut Memory,
    plan: &mut Generations,
    search: &mut Search,
) -> ControlFlow<StopReason> {
    if session.limits.is_over() {
        return ControlFlow::Break(StopReason::TimeSpent);
    }
    let left = session.budget.evaluations.saturating_sub(search.trials.len());
    let repeats_itself = session.strategy.repeats_itself();
    if repeats_itself {
        session.strategy.tell(&memory.before(generation));
    }
    let mut proposals = session.strategy.ask(plan.size(left));
    for notice in session.strategy.notices() {
        session.progress.note(&notice);
    }
    if session.stop.is_requested() {
        return ControlFlow::Break(StopReason::Interrupted);
    }
    if let Some(reply) = session.strategy.unanswered() {
        return ControlFlow::Break(StopReason::Unanswered(reply));
    }
    proposals.truncate(left);
    if proposals.is_empty() {
        return ControlFlow::Break(StopReason::NothingLeft);
    }
    let mut batch = Batch::new(session, generation, search.trials.len());
    let result = batch.try_all(session, &proposals);
    search.evaluated += batch.evaluated;
    let trials = batch.in_order(&proposals);
    session.strategy.tell(&trials);
    search.trials.extend(trials);
    if repeats_itself && memory.differ(generation, &proposals) {
        let rest = memory.rest(&search.trials);
        session.strategy.tell(&rest);
        search.trials.extend(memory.own_of(rest));
        plan.go_on_behind(&search.trials);
    }
    match result {
        Err(fault) => ControlFlow::Break(StopReason::Broken(fault.to_string())),
        Ok(()) if session.stop.is_requested() => ControlFlow::Break(StopReason::Interrupted),
        Ok(()) if session.limits.is_over() => ControlFlow::Break(StopReason::TimeSpent),
        Ok(()) if session.limits.is_plateau(&search.trials) => ControlFlow::Break(StopReason::Plateau),
        Ok(()) => {
            session.progress.generation(generation, search);
            ControlFlow::Continue(())
        }
    }
}

/// The trials of one generation, while they come in.
struct Batch {
    environment: Environment,
    seed: u64,
    generation: u32,
    before: usize,
    trials: HashMap<Schedule, Trial>,
    evaluated: usize,
}

impl Batch {
    fn new(session: &Session<'_>, generation: u32, before: usize) -> Self {
        let environment = session.evaluator.about().environment.clone();
        Batch { environment, seed: session.seed, generation, before, trials: HashMap::new(), evaluated: 0 }
    }

    /// Tries what neither the journal nor a rule answers.
    fn try_all(&mut self, session: &mut Session<'_>, proposals: &[Proposal]) -> Result<(), SearchError> {
        let mut open = Vec::new();
        let class = session.target.problem.class();
        for (index, proposal) in proposals.iter().enumerate() {
            let schedule = proposal.schedule;
            let key = trial::key(session.target, &schedule, &self.environment);
            if let Some(known) = session.store.records().find(&key) {
                let number = (self.before + index + 1) as u32;
                let trial = Trial { generation: self.generation, number, ..known.clone() };
                session.progress.tried(&trial);
                self.trials.insert(schedule, trial);
            } else if let Err(broken) = class.check(&schedule, session.target.arch) {
                let outcome = Outcome::Failed(Failure::from(broken));
                let Session { target, store, progress, .. } = session;
                self.record(target, *store, progress, proposals, Evaluated { schedule, outcome, seconds: 0.0 })?;
            } else {
                open.push(schedule);
            }
        }
        self.evaluate(session, proposals, &open)
    }

    fn evaluate(
        &mut self,
        session: &mut Session<'_>,
        proposals: &[Proposal],
        open: &[Schedule],
    ) -> Result<(), SearchError> {
        if session.stop.is_requested() {
            return Ok(());
        }
        let mut unwritten = None;
        let drafts: Vec<Trial> = open.iter().map(|&schedule| self.draft(session.target, proposals, schedule)).collect();
        session.store.plan(drafts)?;
        let intents = session.store.intents();
        // Split borrows: the evaluator runs while the closure writes to the store.
        let Session { target, evaluator, store, stop, limits, progress, .. } = session;
        let mut done = |evaluated: Evaluated| {
            if let Err(error) = self.record(target, *store, progress, proposals, evaluated) {
                unwritten = Some(error);
                return ControlFlow::Break(());
            }
            if stop.is_requested() || limits.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let result =
            if open.is_empty() { Ok(()) } else { evaluator.evaluate(target, open, intents.as_deref(), &mut done) };
        if let Some(error) = unwritten {
            return Err(error.into());
        }
        Ok(result?)
    }

    /// Journals an outcome before anything else happens.
    fn record(
        &mut self,
        target: &Target,
        store: &mut dyn Store,
        progress: &Progress,
        proposals: &[Proposal],
        evaluated: Evaluated,
    ) -> Result<(), StoreError> {
        let Evaluated { schedule, outcome, seconds } = evaluated;
        let mut trial = Trial { outcome, seconds, ..self.draft(target, proposals, schedule) };
        store.append(trial.clone())?;
        // The store puts times under load on the scale of those that it has.
        if let Some(recorded) = store.records().find(&trial.key()) {
            trial.outcome = recorded.outcome.clone();
        }
        progress.tried(&trial);
        self.trials.insert(schedule, trial);
        self.evaluated += 1;
        Ok(())
    }

    /// The trial of `schedule` before anything is known of its outcome.
    fn draft(&self, target: &Target, proposals: &[Proposal], schedule: Schedule) -> Trial {
        let index = proposals.iter().position(|proposal| proposal.schedule == schedule).unwrap_or(proposals.len());
        let proposal = proposals.get(index);
        Trial {
            at: timestamp(),
            generation: self.generation,
            number: (self.before + index + 1) as u32,
            seed: Some(self.seed),
            proposed_by: proposal.map_or(Proposer::Other(String::new()), |proposal| proposal.proposed_by.clone()),
            why: proposal.and_then(|proposal| proposal.why.clone()),
            target: target.clone().into(),
            schedule,
            environment: self.environment.clone().into(),
            outcome: Outcome::Failed(Failure::Crash { detail: "it was not seen to end".to_owned() }),
            seconds: 0.0,
        }
    }

    /// The trials in the order of their proposals, so that a strategy is told the same whoever finished first.
    fn in_order(mut self, proposals: &[Proposal]) -> Vec<Trial> {
        proposals.iter().filter_map(|proposal| self.trials.remove(&proposal.schedule)).collect()
    }
}
