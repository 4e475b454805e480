//! A strategy that tries a person's own schedules first.

use std::collections::HashSet;
use std::path::PathBuf;

use autokernel_codegen::schedule::Schedule;

use super::ask_tell::{Proposal, Strategy};
use crate::proposer::Proposer;
use crate::strategy_name::StrategyName;
use crate::trial::Trial;

/// What a person's own schedules are tried for.
const WHY: &str = "a starting schedule of --start";

/// Another strategy, behind schedules that are tried before its own.
pub struct Started {
    first: Vec<Schedule>,
    known: HashSet<Schedule>,
    inner: Box<dyn Strategy>,
}

impl Started {
    /// `first`, then what `inner` proposes.
    pub fn new(first: Vec<Schedule>, inner: Box<dyn Strategy>) -> Self {
        Started { first, known: HashSet::new(), inner }
    }
}

impl Strategy for Started {
    fn name(&self) -> StrategyName {
        self.inner.name()
    }

    fn ask(&mut self, n: usize) -> Vec<Proposal> {
        let proposed_by = match self.name() {
            StrategyName::Builtin(builtin) => Proposer::Builtin(builtin),
            StrategyName::Llm => Proposer::StandIn,
            StrategyName::Hybrid => Proposer::HybridSurrogate,
        };
        let first: Vec<Schedule> = self.first.extract_if(..self.first.len().min(n), |_| true).collect();
        let mut proposals: Vec<Proposal> = Vec::new();
        for schedule in first {
            if self.known.insert(schedule) {
                let why = Some(WHY.to_owned());
                proposals.push(Proposal { schedule, proposed_by: proposed_by.clone(), why });
            }
        }
        while proposals.len() < n {
            let more = self.inner.ask(n - proposals.len());
            if more.is_empty() {
                break;
            }
            proposals.extend(more.into_iter().filter(|proposal| self.known.insert(proposal.schedule)));
        }
        proposals
    }

    fn tell(&mut self, trials: &[Trial]) {
        self.known.extend(trials.iter().map(|trial| trial.schedule));
        self.inner.tell(trials);
    }

    fn repeats_itself(&self) -> bool {
        self.inner.repeats_itself()
    }

    fn unanswered(&self) -> Option<PathBuf> {
        self.inner.unanswered()
    }

    fn notices(&mut self) -> Vec<String> {
        self.inner.notices()
    }
}
