//! What a worker is asked to do, and what it answers, as the database holds them.

use std::sync::Arc;

use autokernel_codegen::schedule::Schedule;
use hmac_sha256::Hash;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::evaluate::{Contender, Rounds};
use crate::held_final::Leg;
use crate::outcome::{Measurement, Outcome};
use crate::proposer::Proposer;
use crate::target::Target;
use crate::trial::{self, Trial};

/// What work is about: a target where it is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What is tuned.
    pub target: Arc<Target>,
    /// Where.
    pub environment: Arc<Environment>,
}

/// What a worker does in one go.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Request {
    /// Try a schedule.
    Trial(Draft),
    /// Let contenders meet.
    Compare(Meeting),
    /// Time cuBLAS.
    Reference {},
}

/// Contenders that are to meet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meeting {
    /// Who.
    pub contenders: Vec<Contender>,
    /// For how long.
    pub rounds: Rounds,
}

/// A trial before it was made, without its task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Draft {
    at: String,
    generation: u32,
    number: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    proposed_by: Proposer,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The schedule to try.
    pub schedule: Schedule,
}

/// What came of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    /// What became of the schedule.
    pub outcome: Outcome,
    /// What it took, in seconds.
    pub seconds: f64,
}

/// What came of a reference.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// The time of cuBLAS, where it can be had.
    pub cublas: Option<Measurement>,
}

/// What came of a request.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Of a trial.
    Tried(Tried),
    /// Of a comparison.
    Compared(Leg),
    /// Of a reference.
    Timed(Timed),
}

const TRIAL: &str = "trial";
const COMPARE: &str = "compare";
const REFERENCE: &str = "reference";

impl Request {
    /// The word for it in the database.
    pub fn kind(&self) -> &'static str {
        match self {
            Request::Trial(_) => TRIAL,
            Request::Compare(_) => COMPARE,
            Request::Reference {} => REFERENCE,
        }
    }

    /// The request of that kind in `text`.
    ///
    /// # Errors
    /// It is none.
    pub fn read(kind: &str, text: &str) -> Result<Self, String> {
        let read = match kind {
            TRIAL => serde_json::from_str(text).map(Request::Trial),
            COMPARE => serde_json::from_str(text).map(Request::Compare),
            REFERENCE => return Ok(Request::Reference {}),
            other => return Err(format!("`{other}` is no kind of work")),
        };
        read.map_err(|error| error.to_string())
    }

    /// What tells this request about `task` from others: of a trial, the key of the trial.
    pub fn key(&self, task: &Task) -> Key {
        match self {
            Request::Trial(draft) => trial::key(&task.target, &draft.schedule, &task.environment).bytes(),
            other => digest(&(&task.target, &task.environment, other.kind(), other)),
        }
    }
}

impl Task {
    /// What tells it from others.
    pub fn key(&self) -> Key {
        digest(&(&self.target, &self.environment))
    }
}

/// 128 bits that stand for a value.
pub type Key = [u8; 16];

/// The hash of the JSON of `value`.
pub fn digest(value: &impl Serialize) -> Key {
    let hash = Hash::hash(&serde_json::to_vec(value).expect("all keys are strings"));
    std::array::from_fn(|at| hash[at])
}

impl Draft {
    /// Of `trial`.
    pub fn of(trial: &Trial) -> Self {
        let Trial { at, generation, number, seed, proposed_by, why, schedule, .. } = trial.clone();
        Draft { at, generation, number, seed, proposed_by, why, schedule }
    }

    /// The trial, once it was made.
    pub fn tried(self, task: &Task, tried: Tried) -> Trial {
        let Draft { at, generation, number, seed, proposed_by, why, schedule } = self;
        let Task { target, environment } = task.clone();
        let Tried { outcome, seconds } = tried;
        Trial { at, generation, number, seed, proposed_by, why, target, schedule, environment, outcome, seconds }
    }
}

impl Tried {
    /// Of `trial`.
    pub fn of(trial: &Trial) -> Self {
        Tried { outcome: trial.outcome.clone(), seconds: trial.seconds }
    }

    /// The result in `text`.
    ///
    /// # Errors
    /// It is none, or a time that cannot have been measured.
    pub fn read(text: &str) -> Result<Self, String> {
        let tried: Tried = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let check = tried.outcome.measurement().map_or(Ok(()), Measurement::check);
        check.map(|()| tried).map_err(|implausible| implausible.to_string())
    }
}
