//! What a journal holds.

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::held_final::HeldFinal;
use crate::outcome::Measurement;
use crate::target::Target;
use crate::trial::Trial;

/// A line of the journal; new kinds of lines can join.
#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    Trial(Trial),
    Final(HeldFinal),
    Reference(Reference),
}

/// The time of cuBLAS that a language model was told of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reference {
    pub target: Target,
    pub environment: Environment,
    pub cublas: Measurement,
}

/// What a journal holds.
#[derive(Default)]
pub struct Lines {
    pub trials: Vec<Trial>,
    pub references: Vec<Reference>,
    pub finals: Vec<HeldFinal>,
}

impl Lines {
    pub fn push(&mut self, line: Line) {
        match line {
            Line::Trial(trial) => self.trials.push(trial),
            Line::Reference(reference) => self.references.push(reference),
            Line::Final(held) => self.finals.push(held),
        }
    }
}
