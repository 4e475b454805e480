//! What a store holds, in memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::held_final::HeldFinal;
use crate::outcome::{Measurement, Outcome};
use crate::target::Target;
use crate::trial::{self, Trial, TrialKey};

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
    /// What each reference under load took when it was first met, in milliseconds, by its key as a trial.
    settled_ms: HashMap<TrialKey, f64>,
}

impl Records {
    /// Of these.
    pub fn new(trials: Vec<Trial>, finals: Vec<HeldFinal>, references: Vec<Reference>) -> Self {
        let mut records = Records { finals, ..Records::default() };
        trials.into_iter().for_each(|trial| records.push(trial));
        references.into_iter().for_each(|reference| records.push_reference(reference));
        records
    }

    /// Adds a trial.
    pub fn push(&mut self, trial: Trial) {
        self.push_by(trial.key(), trial);
    }

    /// Adds a trial whose key is known: computing it takes longer than reading the trial.
    pub fn push_by(&mut self, key: TrialKey, mut trial: Trial) {
        if let Outcome::Measured(measurement) = &mut trial.outcome {
            self.put_on_scale(&trial.target, &trial.environment, measurement);
        }
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
    pub fn push_reference(&mut self, mut reference: Reference) {
        let Reference { target, environment, cublas } = &mut reference;
        self.put_on_scale(target, environment, cublas);
        self.references.push(reference);
    }

    /// A time under load is its ratio to the reference, times what that takes; which another day and another GPU of the same kind
    /// say differently. Here it is what it was when it was first met, so that all times of a target compare.
    fn put_on_scale(&mut self, target: &Target, environment: &Environment, time: &mut Measurement) {
        let Some(load) = time.load else { return };
        match self.settled_ms.entry(trial::key(target, &load.reference, environment)) {
            Entry::Occupied(settled_ms) => time.median_ms = load.ratio * settled_ms.get(),
            Entry::Vacant(first) => drop(first.insert(time.median_ms / load.ratio)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::UnderLoad;
    use crate::strategy::tests::{brief, trial as tried};

    #[test]
    fn times_under_load_of_several_days_are_on_the_scale_of_the_first_and_others_as_they_were() {
        let brief = brief();
        let reference = brief.space[0];
        let loaded = |settled_ms: f64, ratio: f64| Measurement {
            load: Some(UnderLoad { reference, ratio, settled: true }),
            ..Measurement::new(settled_ms * ratio, 0.1, 20)
        };
        let mut records = Records::default();
        let (monday, tuesday, rested) = (loaded(0.20, 0.9), loaded(0.22, 0.85), Measurement::new(0.16, 0.1, 30));
        for (schedule, time) in brief.space.iter().zip([monday, tuesday, rested]) {
            records.push(tried(&brief, *schedule, Outcome::Measured(time)));
        }
        let (target, environment) = (brief.target.clone(), (*records.trials()[0].environment).clone());
        records.push_reference(Reference {
            target: target.clone(),
            environment: environment.clone(),
            cublas: loaded(0.3, 1.1),
        });
        let ms: Vec<f64> = records.trials().iter().filter_map(Trial::median_ms).collect();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(ms[0], 0.18) && near(ms[1], 0.17) && near(ms[2], 0.16), "{ms:?}");
        assert!(near(records.reference(&target, &environment).unwrap().median_ms, 0.22));
    }
}
