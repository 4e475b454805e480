//! One schedule that was tried.

use std::sync::Arc;

use autokernel_codegen::schedule::Schedule;
use hmac_sha256::Hash;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::outcome::Outcome;
use crate::proposer::Proposer;
use crate::target::Target;

/// One schedule that was tried, with all that its outcome depends on: a line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// When it was tried, RFC 3339.
    pub at: String,
    /// The generation of its search, from 1.
    pub generation: u32,
    /// Its number within its search, from 1.
    pub number: u32,
    /// What decided the random choices of its search; none in lines of before it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Who proposed it.
    pub proposed_by: Proposer,
    /// Why, in the proposer's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What was tuned; one value for all trials that a study holds of it.
    pub target: Arc<Target>,
    /// What was tried.
    pub schedule: Schedule,
    /// Where.
    pub environment: Arc<Environment>,
    /// What became of it.
    pub outcome: Outcome,
    /// What the trial took in all, in seconds: compiling, checking and timing.
    pub seconds: f64,
}

impl Trial {
    /// What tells this trial from others; see `key`.
    pub fn key(&self) -> TrialKey {
        key(&self.target, &self.schedule, &self.environment)
    }

    /// The median time in milliseconds, if there is one.
    pub fn median_ms(&self) -> Option<f64> {
        self.outcome.median_ms()
    }

    /// What a search makes small, if there is one: the time, or the energy.
    pub fn cost(&self) -> Option<f64> {
        self.outcome.cost()
    }
}

/// Identifies a measurement: 128 bits, so that of 10⁸ trials no two are taken for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrialKey([u8; 16]);

#[cfg(feature = "study")]
impl TrialKey {
    /// Of these bits.
    pub fn of(bits: [u8; 16]) -> Self {
        TrialKey(bits)
    }

    /// The bits.
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }
}

/// Identifies the measurement of `schedule` for `target` in `environment`: the same schedule, problem, shape, arch,
/// GPU, driver, nvcc and kernel sources need measuring only once.
pub fn key(target: &Target, schedule: &Schedule, environment: &Environment) -> TrialKey {
    let json = serde_json::to_vec(&(target, schedule, environment)).expect("trials have only string keys");
    let hash = Hash::hash(&json);
    TrialKey(std::array::from_fn(|at| hash[at]))
}

/// The best of `trials`, the earliest of equals.
pub fn fastest<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<&'t Trial> {
    let timed = trials.into_iter().filter_map(|trial| Some((trial.cost()?, trial)));
    timed.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, trial)| trial)
}
