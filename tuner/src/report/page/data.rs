//! What the page is made of.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use autokernel_runtime::Datasheet;
use autokernel_runtime::roofline::Roofline;

use crate::environment::Environment;
use crate::report::document::{BestDocument, Results, TargetDocument};
use crate::target::Target;
use crate::trial::{self, Trial};

/// The page.
pub struct Page {
    /// What was tuned, in the order of the journal.
    pub tunings: Vec<Tuning>,
    /// The entries that are listed.
    pub config: Config,
    /// When the page was written.
    pub written: String,
    /// How often a browser is to load it again, in seconds; never if it is the last.
    pub refresh_s: Option<u32>,
}

/// The trials of one target in one environment.
pub struct Tuning {
    /// What was tuned.
    pub target: Arc<Target>,
    /// Where.
    pub environment: Arc<Environment>,
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// What its last final came to, if one was held.
    pub result: Option<TargetDocument>,
}

/// The trials by target and environment, in the order of their first trials.
pub fn tunings(trials: Vec<Trial>, results: Results) -> Vec<Tuning> {
    let mut tunings: Vec<Tuning> = Vec::new();
    // Many studies have thousands of targets: by extents and environment few are left to compare.
    let mut places: HashMap<(Extents, Arc<Environment>), Vec<usize>> = HashMap::new();
    for trial in trials {
        let places = places.entry((trial.target.shape, trial.environment.clone())).or_default();
        match places.iter().find(|&&place| tunings[place].target == trial.target) {
            Some(&place) => tunings[place].trials.push(trial),
            None => {
                places.push(tunings.len());
                let (target, environment) = (trial.target.clone(), trial.environment.clone());
                let result = results.targets.iter().find(|result| result.is_of(&target, &environment)).cloned();
                tunings.push(Tuning { target, environment, trials: vec![trial], result });
            }
        }
    }
    tunings
}

impl Tuning {
    /// The time of the best schedule, in milliseconds: that of its final, or else of its trial.
    pub fn best_ms(&self) -> Option<f64> {
        let in_final = self.in_final().map(|best| best.median_ms);
        in_final.or_else(|| trial::fastest(&self.trials)?.median_ms())
    }

    /// The best schedule.
    pub fn best_schedule(&self) -> Option<Schedule> {
        let in_final = self.in_final().map(|best| best.schedule);
        in_final.or_else(|| Some(trial::fastest(&self.trials)?.schedule))
    }

    /// The best of the last final, if one was held.
    fn in_final(&self) -> Option<&BestDocument> {
        self.result.as_ref().filter(|result| result.verdict.is_some())?.best.as_ref()
    }

    /// Whether a final was held: recorded times are looked up.
    pub fn met_in_rounds(&self) -> bool {
        let verdict = self.result.as_ref().and_then(|result| result.verdict.as_ref());
        verdict.is_some_and(|verdict| verdict.rounds.is_some())
    }

    /// The fastest trial that is faster than that of the final's best and was not in the final: tried since, or left out of the
    /// search that it ended.
    pub fn ahead(&self) -> Option<&Trial> {
        let met = self.result.as_ref()?.verdict.as_ref()?.finalists.as_ref()?;
        let winner = self.in_final()?.schedule;
        let winner = self.trials.iter().find(|trial| trial.schedule == winner)?.cost()?;
        let others = self.trials.iter().filter(|trial| !met.contains(&trial.schedule));
        trial::fastest(others).filter(|trial| trial.cost() < Some(winner))
    }

    /// The time of the default schedule, in milliseconds: that of the final, or else of its trial.
    pub fn default_ms(&self) -> Option<f64> {
        let in_final = self.result.as_ref().and_then(|result| result.default_ms);
        in_final.or_else(|| {
            let default = self.target.problem.class().default_schedule(self.target.arch);
            self.trials.iter().find(|trial| trial.schedule == default)?.median_ms()
        })
    }

    /// The time of cuBLAS with the epilogue as a kernel of its own, in milliseconds.
    pub fn cublas_ms(&self) -> Option<f64> {
        self.result.as_ref()?.cublas_ms
    }

    /// The time of what was in use, in milliseconds.
    pub fn incumbent_ms(&self) -> Option<f64> {
        self.result.as_ref()?.incumbent.as_ref()?.median_ms
    }

    /// The GPU's two ceilings for the problem's inputs: as the run knew them, or else the datasheet's.
    pub fn roofline(&self) -> Option<Roofline> {
        let input = self.target.input();
        let known = self.result.as_ref().and_then(|result| result.gpu.roofline(input));
        known.or_else(|| Datasheet::of_driver_name(&self.environment.gpu)?.roofline(input?))
    }

    /// The generations that have trials, in their order.
    pub fn generations(&self) -> Vec<Vec<&Trial>> {
        let mut generations: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
        for trial in &self.trials {
            generations.entry(trial.generation).or_default().push(trial);
        }
        generations.into_values().collect()
    }

    /// A short title: `4096x4096x4096 · nt bf16 · leaky_relu(0.01)`.
    pub fn title(&self) -> String {
        let Target { problem, shape, .. } = &*self.target;
        format!("{shape} · {}", problem.brief())
    }
}
