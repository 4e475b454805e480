//! What every strategy is asked and told.

use std::path::PathBuf;

use autokernel_codegen::schedule::Schedule;

use crate::proposer::Proposer;
use crate::strategy_name::StrategyName;
use crate::trial::Trial;

/// Proposes schedules.
pub trait Strategy {
    /// Its name, as on the command line and in the journal.
    fn name(&self) -> StrategyName;

    /// Up to `n` schedules to try next, none of which was proposed or told before. Fewer mean that it has no more
    /// ideas for this generation; none, that it has no more at all.
    fn ask(&mut self, n: usize) -> Vec<Proposal>;

    /// What became of schedules: its own proposals, or trials of an earlier run before it is first asked.
    fn tell(&mut self, trials: &[Trial]);

    /// Whether a strategy with the same brief, told the same, proposes the same. Then a run that was interrupted is
    /// continued by asking again from the start, with the journal answering what it knows; otherwise, by telling a new
    /// strategy what the journal knows.
    fn repeats_itself(&self) -> bool {
        true
    }

    /// The reply file without which it proposes nothing, if it is to wait for one.
    fn unanswered(&self) -> Option<PathBuf> {
        None
    }

    /// What happened since the last call that a person should know, such as a model that does not answer.
    fn notices(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// A schedule to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The schedule.
    pub schedule: Schedule,
    /// Who thought of it: a strategy may have several minds.
    pub proposed_by: Proposer,
    /// Why it may be fast, in its proposer's words.
    pub why: Option<String>,
}

impl Proposal {
    /// A proposal that needs no words.
    pub fn new(schedule: Schedule, proposed_by: Proposer) -> Self {
        Proposal { schedule, proposed_by, why: None }
    }
}
