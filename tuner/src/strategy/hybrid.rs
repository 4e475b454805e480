//! A language model that seeds and steers, and a surrogate that does the searching.

use std::path::PathBuf;

use super::ask_tell::{Proposal, Strategy};
use super::brief::Brief;
use super::llm::Llm;
use super::surrogate::Surrogate;
use crate::proposer::Proposer;
use crate::strategy_name::StrategyName;
use crate::trial::Trial;

/// What part of a generation the model may fill: two thirds of the first, a third of the next two.
///
/// The first round brings what the model knows of such kernels, and the next two what it makes of the times. From then on
/// each evaluation is worth more to the surrogate, which has all of them.
const MODEL_SHARE: [(usize, usize); 3] = [(2, 3), (1, 3), (1, 3)];

/// The model's rounds first, the [`Surrogate`] beside and after them. Both are told every trial.
pub struct Hybrid {
    llm: Llm,
    surrogate: Surrogate,
    /// Generations so far, those of an interrupted run included.
    generation: usize,
}

impl Hybrid {
    /// A search for `brief` seeded and steered by `llm`.
    pub fn led_by(llm: Llm, brief: &Brief) -> Self {
        Hybrid { llm: llm.with_stand_in("surrogate"), surrogate: Surrogate::new(brief), generation: 0 }
    }

    /// What the model proposes for its part of a generation of `n`; nothing if it is silent, which it has said then.
    fn consult(&mut self, n: usize) -> Vec<Proposal> {
        let Some(&(part, of)) = MODEL_SHARE.get(self.generation) else { return Vec::new() };
        let proposals = self.llm.consult((n * part).div_ceil(of)).unwrap_or_default();
        let proposed_by = Proposer::HybridLlm(self.llm.model());
        proposals.into_iter().map(|proposal| Proposal { proposed_by: proposed_by.clone(), ..proposal }).collect()
    }
}

impl Strategy for Hybrid {
    fn name(&self) -> StrategyName {
        StrategyName::Hybrid
    }

    fn ask(&mut self, n: usize) -> Vec<Proposal> {
        let mut proposals = self.consult(n);
        if self.unanswered().is_some() {
            return Vec::new();
        }
        self.generation += 1;
        self.surrogate.leave_out(proposals.iter().map(|proposal| proposal.schedule));
        let rest = self.surrogate.ask(n.saturating_sub(proposals.len())).into_iter();
        proposals.extend(rest.map(|proposal| Proposal { proposed_by: Proposer::HybridSurrogate, ..proposal }));
        proposals
    }

    fn tell(&mut self, trials: &[Trial]) {
        let own = trials.iter().filter(|trial| trial.proposed_by.strategy() == Some(self.name()));
        let last = own.map(|trial| trial.generation as usize).max().unwrap_or(0);
        self.generation = self.generation.max(last);
        self.surrogate.tell(trials);
        self.llm.tell(trials);
    }

    fn repeats_itself(&self) -> bool {
        self.llm.repeats_itself()
    }

    fn unanswered(&self) -> Option<PathBuf> {
        self.llm.unanswered()
    }

    fn notices(&mut self) -> Vec<String> {
        self.llm.notices()
    }
}
