//! What a store holds, in memory.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::held_final::HeldFinal;
use crate::outcome::Measurement;
use crate::target::Target;
use crate::trial::{Trial, TrialKey};

/// The time of cuBLAS that a language model was told of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reference {
    /// What was tuned.
    pub target: Target,
    /// Where.
    pub environment: Environment,
    /// The time.
    pub cublas: Measurement,
}

/// Trials, finals and references, in the order in which they were recorded.
#[derive(Debug, Default)]
pub struct Records {
    trials: Vec<Trial>,
    by_key: HashMap<TrialKey, usize>,
    finals: Vec<HeldFinal>,
    references: Vec<Reference>,
}

impl Records {
    /// Of these.
    pub fn new(trials: Vec<Trial>, finals: Vec<HeldFinal>, references: Vec<Reference>) -> Self {
        let by_key = trials.iter().enumerate().map(|(index, trial)| (trial.key(), index)).collect();
        Records { trials, by_key, finals, references }
    }

    /// Adds a trial.
    pub fn push(&mut self, trial: Trial) {
        self.push_by(trial.key(), trial);
    }

    /// Adds a trial whose key is known: computing it takes longer than reading the trial.
    pub fn push_by(&mut self, key: TrialKey, trial: Trial) {
        self.by_key.insert(key, self.trials.len());
        self.trials.push(trial);
    }

    /// The trials alone.
    pub fn into_trials(self) -> Vec<Trial> {
        self.trials
    }

    /// Adds a final.
    pub fn push_final(&mut self, held: HeldFinal) {
        self.finals.push(held);
    }

    /// Adds a reference.
    pub fn push_reference(&mut self, reference: Reference) {
        self.references.push(reference);
    }

    /// The trial with this key, if it has been made.
    pub fn find(&self, key: &TrialKey) -> Option<&Trial> {
        self.by_key.get(key).map(|&index| &self.trials[index])
    }

    /// Every trial.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The trials for `target` in `environment`.
    pub fn trials_of<'r>(
        &'r self,
        target: &'r Target,
        environment: &'r Environment,
    ) -> impl Iterator<Item = &'r Trial> {
        self.trials.iter().filter(move |trial| *trial.target == *target && *trial.environment == *environment)
    }

    /// Every final.
    pub fn finals(&self) -> &[HeldFinal] {
        &self.finals
    }

    /// Every reference.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The time of cuBLAS for `target` in `environment`, if it was recorded.
    pub fn reference(&self, target: &Target, environment: &Environment) -> Option<&Measurement> {
        let known = |reference: &&Reference| reference.target == *target && reference.environment == *environment;
        self.references.iter().find(known).map(|reference| &reference.cublas)
    }
}
