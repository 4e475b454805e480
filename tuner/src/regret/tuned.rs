//! A search at one shape, as `tuner tune` makes it but for earlier trials of other shapes.

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;

use crate::constraints::Constraints;
use crate::evaluate::Evaluator;
use crate::journal::Journal;
use crate::promote::FinalPlan;
use crate::session::{Budget, Limits, Progress, Search, Session, search};
use crate::stop::Stop;
use crate::strategy::{Asked, Neighbours};
use crate::strategy_name::Builtin;
use crate::target::Target;

/// What every search of a run shares.
pub struct Searches<'s> {
    /// What its tuned entries seed.
    pub config: &'s Config,
    /// What each may spend.
    pub budget: Budget,
    /// Decides random choices.
    pub seed: u64,
    /// Whether somebody wants it to end.
    pub stop: &'s Stop,
    /// Who tells the person.
    pub progress: Progress,
}

impl Searches<'_> {
    /// Searches `target`.
    pub fn at(&self, target: &Target, evaluator: &mut dyn Evaluator, journal: &mut Journal) -> Search {
        let constraints = Constraints::default();
        let asked = Asked {
            config: self.config,
            which: Neighbours::All,
            constraints: constraints.clone(),
            history: Vec::new(),
            evaluations: self.budget.evaluations,
            generations: self.budget.generations,
            seed: self.seed,
        };
        let space = evaluator.space(target);
        let brief = asked.brief(target, evaluator.about(), space);
        search(&mut Session {
            target,
            evaluator,
            strategy: Builtin::DEFAULT.start(&brief).as_mut(),
            store: journal,
            budget: self.budget,
            limits: Limits::default(),
            constraints: &constraints,
            seed: self.seed,
            stop: self.stop,
            progress: &self.progress,
        })
    }
}

/// Those that qualify for a final of the search, fastest first.
pub fn finalists(search: &Search) -> Vec<Schedule> {
    FinalPlan::default().finalists(&search.trials).into_iter().map(|trial| trial.schedule).collect()
}
