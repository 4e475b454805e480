//! A language model that proposes, with the built-in search to stand in for it.

mod refusals;
mod told;

use std::collections::HashMap;
use std::path::PathBuf;

use autokernel_codegen::schedule::Schedule;

use super::ask_tell::{Proposal, Strategy};
use super::brief::Brief;
use super::local::Local;
use crate::known::Known;
use crate::llm::{Conversation, Feedback, Left, LlmError, Proposals, Provider, Rejected, Rejection, Unanswered};
use crate::outcome::Measurement;
use crate::proposer::Proposer;
use crate::strategy_name::StrategyName;
use crate::trial::Trial;

/// Rounds in a row that may fail before the model is given up.
const PATIENCE: u32 = 2;
/// The fastest trials that the model is shown.
const TOP: usize = 13;

/// Asks a model in each generation. Where it has no usable answer, the built-in search proposes in its place; once it
/// is clear that no answer will come, for the rest of the search.
pub struct Llm {
    brief: Brief,
    provider: Box<dyn Provider>,
    conversation: Conversation,
    stand_in: Local,
    /// Who proposes where the model does not, for people.
    stand_in_name: &'static str,
    trials: HashMap<Schedule, Trial>,
    proposed: Vec<Schedule>,
    rejected: Vec<Rejected>,
    rounds: u32,
    failures: u32,
    gone: bool,
    cublas_ms: Option<f64>,
    policy: Unanswered,
    unanswered: Option<PathBuf>,
    notices: Vec<String>,
}

impl Llm {
    /// A search for `brief` led by the model behind `provider`.
    pub fn new(brief: &Brief, provider: Box<dyn Provider>) -> Self {
        provider.begin(&brief.target.to_string());
        Llm {
            conversation: Conversation::new(&told::task(brief, None)),
            stand_in: Local::new(brief),
            stand_in_name: "built-in search",
            brief: brief.clone(),
            provider,
            trials: HashMap::new(),
            proposed: Vec::new(),
            rejected: Vec::new(),
            rounds: 0,
            failures: 0,
            gone: false,
            cublas_ms: None,
            policy: Unanswered::GoOn,
            unanswered: None,
            notices: Vec::new(),
        }
    }

    /// The same, told what cuBLAS takes for the target, if that is known.
    pub fn against(self, cublas: Option<Measurement>) -> Self {
        let cublas_ms = cublas.map(|cublas| cublas.median_ms);
        Llm { conversation: Conversation::new(&told::task(&self.brief, cublas_ms)), cublas_ms, ..self }
    }

    /// The same, doing as `policy` says when a prompt stays unanswered.
    pub fn when_unanswered(self, policy: Unanswered) -> Self {
        Llm { policy, ..self }
    }

    /// Says that `name` proposes where the model does not.
    pub(super) fn with_stand_in(self, name: &'static str) -> Self {
        Llm { stand_in_name: name, ..self }
    }

    /// The name of the model.
    pub(super) fn model(&self) -> String {
        self.provider.name()
    }

    /// Up to `n` proposals of the model; `None` if it has no usable answer, or is given up.
    pub(super) fn consult(&mut self, n: usize) -> Option<Vec<Proposal>> {
        let proposals = if self.gone { None } else { self.ask_model(n) };
        if proposals.is_none() {
            self.proposed.clear();
        }
        proposals
    }

    fn ask_model(&mut self, n: usize) -> Option<Vec<Proposal>> {
        let feedback = (!self.trials.is_empty() || self.rounds > 0).then(|| self.feedback(n));
        let trials = &self.trials;
        let tried = |schedule: &Schedule| trials.contains_key(schedule);
        let answer = self.conversation.propose(self.provider.as_ref(), feedback.as_ref(), &tried);
        self.rounds += 1;
        self.notices.extend(self.provider.notices());
        match answer {
            Ok(proposals) => self.accept(proposals, n),
            // The session sees for itself that it is to end.
            Err(LlmError::Interrupted) => None,
            Err(LlmError::NoReplyFile { path, .. }) if self.policy == Unanswered::Stop => {
                self.unanswered = Some(path);
                None
            }
            Err(error) => {
                self.endure(&error);
                None
            }
        }
    }

    /// The usable proposals; `None` if there are none.
    fn accept(&mut self, proposals: Proposals, n: usize) -> Option<Vec<Proposal>> {
        let Proposals { mut valid, rejected, .. } = proposals;
        self.failures = 0;
        self.rejected = rejected.into_iter().map(|rejected| self.explain(rejected)).collect();
        for surplus in valid.split_off(valid.len().min(n)) {
            let text = serde_json::to_string(&surplus.schedule).unwrap_or_default();
            self.rejected.push(Rejected { text, reason: format!("more than the {n} asked for").into() });
        }
        if !self.rejected.is_empty() {
            self.notices.push(refusals::told(&self.rejected));
        }
        self.proposed = valid.iter().map(|proposal| proposal.schedule).collect();
        if valid.is_empty() {
            let stand_in = self.stand_in_name;
            self.notices.push(format!("the model proposed nothing usable; the {stand_in} proposes in its place"));
            return None;
        }
        let proposed_by = Proposer::Llm(self.model());
        let proposal = |proposal: crate::llm::Proposal| Proposal {
            schedule: proposal.schedule,
            proposed_by: proposed_by.clone(),
            why: Some(proposal.why).filter(|why| !why.is_empty()),
        };
        Some(valid.into_iter().map(proposal).collect())
    }

    /// With what became of a duplicate when it was tried.
    fn explain(&self, rejected: Rejected) -> Rejected {
        let reason = match rejected.reason {
            Rejection::AlreadyTried { schedule, .. } => {
                let became = self.trials.get(&schedule).map(|trial| trial.outcome.clone().into());
                Rejection::AlreadyTried { schedule, became }
            }
            other => other,
        };
        Rejected { reason, ..rejected }
    }

    fn endure(&mut self, error: &LlmError) {
        self.failures += 1;
        // Prose, or nothing, may be a slip of the model; a refused key will be refused again.
        let may_recover = error.is_transient() || error.is_slip();
        self.gone = !may_recover || self.failures >= PATIENCE;
        if self.gone {
            self.provider.give_up(error);
        }
        let until = if self.gone { "for the rest of this search" } else { "in its place this once" };
        self.notices.push(format!("{error}. The {} proposes {until}.", self.stand_in_name));
    }

    fn feedback(&self, n: usize) -> Feedback {
        let mut trials: Vec<&Trial> = self.trials.values().collect();
        trials.sort_by(|a, b| {
            let time = |trial: &Trial| trial.median_ms().unwrap_or(f64::INFINITY);
            time(a).total_cmp(&time(b)).then(a.number.cmp(&b.number))
        });
        let timed = trials.iter().take_while(|trial| trial.median_ms().is_some()).count();
        let (timed, failed) = trials.split_at(timed);
        let (top, slower) = timed.split_at(timed.len().min(TOP));
        let is_unlisted = |trial: &&&Trial| !self.proposed.contains(&trial.schedule);
        let tried = |trial: &Trial| told::tried(trial, &self.brief, self.cublas_ms);
        let anchor = |known: &Known| (known.clone(), self.trials.get(&known.schedule).map(|trial| tried(trial).became));
        let proposed = self.proposed.iter().filter_map(|schedule| self.trials.get(schedule));
        let left = self.brief.evaluations.saturating_sub(self.trials.len());
        Feedback {
            top: top.iter().copied().map(tried).collect(),
            anchors: self.brief.known.iter().map(anchor).collect(),
            proposed: proposed.map(tried).collect(),
            others: failed.iter().chain(slower).filter(is_unlisted).copied().map(tried).collect(),
            rejected: self.rejected.clone(),
            left: Left {
                evaluations: left as u32,
                rounds: (left.div_ceil(n.max(1))) as u32,
                proposals_per_round: n as u32,
            },
        }
    }
}

impl Strategy for Llm {
    fn name(&self) -> StrategyName {
        StrategyName::Llm
    }

    fn ask(&mut self, n: usize) -> Vec<Proposal> {
        if let Some(proposals) = self.consult(n) {
            return proposals;
        }
        if self.unanswered.is_some() {
            return Vec::new();
        }
        let proposals = self.stand_in.ask(n).into_iter();
        proposals.map(|proposal| Proposal { proposed_by: Proposer::StandIn, ..proposal }).collect()
    }

    fn tell(&mut self, trials: &[Trial]) {
        self.stand_in.tell(trials);
        self.trials.extend(trials.iter().map(|trial| (trial.schedule, trial.clone())));
    }

    fn repeats_itself(&self) -> bool {
        self.provider.repeats_itself()
    }

    fn unanswered(&self) -> Option<PathBuf> {
        self.unanswered.clone()
    }

    fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}
