//! Who proposes what to try next.
//!
//! A strategy is asked for schedules and told what became of them. It never measures, so the same strategy works on a
//! GPU, on a recording, and on several GPUs at once.

mod brief;
mod effects;
pub mod lattice;
mod llm;
mod local;
mod moves;
pub mod prior;
mod random;
mod seeds;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use autokernel_codegen::schedule::Schedule;

use crate::trial::Trial;

pub use brief::{Brief, Known};
pub use llm::Llm;
pub use local::Local;
pub use random::Random;
pub use seeds::{Neighbours, neighbours};

/// Proposes schedules.
pub trait Strategy {
    /// Its name, as on the command line and in the journal.
    fn name(&self) -> &'static str;

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
    /// Who thought of it, where a strategy has several minds: `local`, `llm gpt-5`.
    pub proposed_by: String,
    /// Why it may be fast, in its proposer's words.
    pub why: Option<String>,
}

impl Proposal {
    /// A proposal that needs no words.
    pub fn new(schedule: Schedule, proposed_by: &str) -> Self {
        Proposal { schedule, proposed_by: proposed_by.to_owned(), why: None }
    }
}

/// The strategies that need nothing but the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// [`Random`].
    Random,
    /// [`Local`].
    Local,
}

impl Builtin {
    /// A strategy for `brief`.
    pub fn start(self, brief: &Brief) -> Box<dyn Strategy> {
        match self {
            Builtin::Random => Box::new(Random::new(brief)),
            Builtin::Local => Box::new(Local::new(brief)),
        }
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Builtin::Random => "random",
            Builtin::Local => "local",
        })
    }
}

impl FromStr for Builtin {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = [Builtin::Random, Builtin::Local].into_iter().find(|strategy| strategy.to_string() == name);
        known.ok_or_else(|| format!("there is no strategy `{name}`; write random, local or llm"))
    }
}
