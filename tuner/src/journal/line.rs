//! What a journal holds.

use autokernel_core::{Implausible, check_amount, check_count};
use serde::{Deserialize, Serialize};

use crate::held_final::HeldFinal;
use crate::outcome::Measurement;
use crate::store::Reference;
use crate::trial::Trial;

/// The version of the journals that this tuner begins. In it every line has a checksum; those of version 1, which
/// have neither head nor checksums, are read and gone on with.
pub const VERSION: u32 = 2;

/// A line of the journal; new kinds of lines can join.
#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The first line of a journal.
    Journal {
        version: u32,
    },
    Trial(Trial),
    Final(HeldFinal),
    Reference(Reference),
}

/// What a journal holds.
#[derive(Default)]
pub struct Lines {
    pub trials: Vec<Trial>,
    pub references: Vec<Reference>,
    pub finals: Vec<HeldFinal>,
    /// Of the file, by its first line.
    pub version: Option<u32>,
}

impl Line {
    /// Refuses times that cannot have been measured, and counts that nobody comes to.
    pub fn check(&self) -> Result<(), Implausible> {
        match self {
            Line::Journal { .. } => Ok(()),
            Line::Trial(trial) => {
                check_count("generation", trial.generation)?;
                check_count("number", trial.number)?;
                check_amount("seconds", trial.seconds)?;
                trial.outcome.measurement().map_or(Ok(()), Measurement::check)
            }
            Line::Final(held) => held.check(),
            Line::Reference(reference) => reference.cublas.check(),
        }
    }
}

impl Lines {
    pub fn push(&mut self, line: Line) {
        match line {
            Line::Journal { version } => self.version = Some(version),
            Line::Trial(trial) => self.trials.push(trial),
            Line::Reference(reference) => self.references.push(reference),
            Line::Final(held) => self.finals.push(held),
        }
    }
}
