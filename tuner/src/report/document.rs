//! What a run came to, for programs: `tuner tune --json`, and `results.json` of the output folder.

use std::collections::BTreeMap;
use std::path::Path;

use autokernel_codegen::files;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Implausible, check_count, check_ms};
use serde::{Deserialize, Serialize};

use super::result::TargetResult;
use crate::environment::Environment;
use crate::gpu_facts::GpuFacts;
use crate::outcome::Outcome;
use crate::session::StopReason;
use crate::target::Target;

/// The version of both documents.
pub const VERSION: u32 = 1;

/// What one target came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetDocument {
    /// What was tuned.
    pub target: Target,
    /// Where the times were measured.
    pub environment: Environment,
    /// On which GPU.
    pub gpu: GpuFacts,
    /// The strategy and its seed, in words.
    pub strategy: String,
    /// Where the times are from, in words.
    pub origin: String,
    /// Why the search ended.
    pub stop: StopDocument,
    /// Schedules tried, those that the journal answered included.
    pub tried: usize,
    /// How many of them were measured in this run.
    pub evaluated: usize,
    /// Failed schedules by kind of failure.
    pub failures: BTreeMap<String, usize>,
    /// The fastest time up to each generation.
    pub generations: Vec<GenerationDocument>,
    /// The fastest schedule; none if nothing works.
    pub best: Option<BestDocument>,
    /// The time of the default schedule, in milliseconds.
    pub default_ms: Option<f64>,
    /// What is in use today; none if the run was stopped before the final.
    pub incumbent: Option<IncumbentDocument>,
    /// The time of cuBLAS with the epilogue as a kernel of its own, in milliseconds.
    pub cublas_ms: Option<f64>,
    /// The fastest schedule of the whole space, where that is recorded.
    pub optimum: Option<TimedSchedule>,
    /// Whether the best replaces what is in use; none if the run was stopped before the final.
    pub verdict: Option<VerdictDocument>,
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopDocument {
    /// `budget_spent`, `generations_spent`, `nothing_left`, `interrupted`, `unanswered` or `broken`.
    pub reason: String,
    /// The same in words.
    pub text: String,
}

/// The fastest time up to a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GenerationDocument {
    /// The generation, from 1.
    pub generation: u32,
    /// The fastest time so far, in milliseconds.
    pub best_ms: f64,
}

/// The fastest schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestDocument {
    /// The schedule.
    pub schedule: Schedule,
    /// Its median time, in milliseconds: that of the final, or else of its trial.
    pub median_ms: f64,
    /// Interquartile range over median, in percent.
    pub spread_pct: f64,
    /// Energy of a launch on the whole board, in millijoules, where the search made that small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_mj: Option<f64>,
    /// Its rate, in 10¹² operations a second.
    pub tflops: f64,
    /// Its rate over what the roofline allows, in percent; null where that is not known.
    pub roofline_pct: Option<f64>,
    /// Who proposed it.
    pub proposed_by: String,
}

/// What is in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncumbentDocument {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from, in words.
    pub origin: String,
    /// Whether it is an entry of exactly this target.
    pub exact: bool,
    /// Its time in the final, in milliseconds.
    pub median_ms: Option<f64>,
}

/// A schedule with its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedSchedule {
    /// The schedule.
    pub schedule: Schedule,
    /// Its median time, in milliseconds.
    pub median_ms: f64,
}

/// Whether the best replaces what is in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictDocument {
    /// Whether it does.
    pub promoted: bool,
    /// Why, in a sentence with the numbers.
    pub reason: String,
    /// The schedules of the search that met; `None` of earlier tuners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalists: Option<Vec<Schedule>>,
    /// Rounds of the final's last leg; `None` if recorded times were looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

impl TargetDocument {
    /// The document of `result`.
    pub fn of(result: &TargetResult) -> Self {
        let TargetResult { search, promotion, .. } = result;
        let promotion = promotion.as_ref();
        TargetDocument {
            target: search.target.clone(),
            environment: result.environment.clone(),
            gpu: result.gpu.clone(),
            strategy: result.strategy.clone(),
            origin: result.origin.clone(),
            stop: StopDocument::of(&search.stopped),
            tried: search.trials.len(),
            evaluated: search.evaluated,
            failures: failures(result),
            generations: generations(result),
            best: best(result),
            default_ms: result.default_ms(),
            incumbent: promotion.map(|outcome| IncumbentDocument {
                schedule: outcome.incumbent.schedule,
                origin: outcome.incumbent.origin.to_string(),
                exact: outcome.incumbent.is_exact(),
                median_ms: result.incumbent_ms(),
            }),
            cublas_ms: result.cublas_ms(),
            optimum: result.optimum.map(|(schedule, time)| TimedSchedule { schedule, median_ms: time.median_ms }),
            verdict: promotion.map(|outcome| VerdictDocument {
                promoted: outcome.verdict.promoted,
                reason: outcome.verdict.reason.clone(),
                finalists: Some(outcome.finalists.clone()),
                rounds: outcome.rounds,
            }),
        }
    }
}

impl StopDocument {
    fn of(stopped: &StopReason) -> Self {
        let reason = match stopped {
            StopReason::BudgetSpent => "budget_spent",
            StopReason::GenerationsSpent => "generations_spent",
            StopReason::NothingLeft => "nothing_left",
            StopReason::TimeSpent => "time_spent",
            StopReason::Plateau => "plateau",
            StopReason::Interrupted => "interrupted",
            StopReason::Unanswered(_) => "unanswered",
            StopReason::Broken(_) => "broken",
        };
        StopDocument { reason: reason.to_owned(), text: stopped.to_string() }
    }
}

fn best(result: &TargetResult) -> Option<BestDocument> {
    let median_ms = result.best_ms()?;
    let target = &result.search.target;
    let in_final = result.promotion.as_ref().and_then(|promotion| promotion.winner.as_ref());
    let (trial, measurement) = match in_final {
        Some((trial, time)) => (trial, time.measurement),
        None => {
            let trial = result.search.best()?;
            (trial, *trial.outcome.measurement()?)
        }
    };
    Some(BestDocument {
        schedule: trial.schedule,
        median_ms,
        spread_pct: measurement.spread_pct,
        energy_mj: measurement.energy_mj,
        tflops: target.tflops(median_ms),
        roofline_pct: result.roofline().map(|roof| roof.percent(&target.work(), median_ms)),
        proposed_by: trial.proposed_by.to_string(),
    })
}

fn generations(result: &TargetResult) -> Vec<GenerationDocument> {
    let best = result.search.best_by_generation().into_iter();
    best.filter_map(|(generation, trial)| Some(GenerationDocument { generation, best_ms: trial.median_ms()? }))
        .collect()
}

fn failures(result: &TargetResult) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for trial in &result.search.trials {
        if let Outcome::Failed(failure) = &trial.outcome {
            *kinds.entry(failure.kind().to_owned()).or_default() += 1;
        }
    }
    kinds
}

/// `results.json`: what each target of an output folder came to when it was last tuned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// `VERSION`.
    pub version: u32,
    /// A document a target and environment.
    pub targets: Vec<TargetDocument>,
}

impl Default for Results {
    fn default() -> Self {
        Results { version: VERSION, targets: Vec::new() }
    }
}

impl Results {
    /// The file's name in an output folder.
    pub const FILE: &'static str = "results.json";

    /// The file at `path`; an empty one where there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(path: &Path) -> Result<Self, String> {
        let text = match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Results::default()),
            read => read.map_err(|error| error.to_string())?,
        };
        Results::parse(&text)
    }

    /// Those in `json`.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, String> {
        let results: Results = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let other = || format!("it is of version {}, and this tuner writes {VERSION}", results.version);
        if results.version != VERSION {
            return Err(other());
        }
        results.targets.iter().try_for_each(TargetDocument::check)?;
        Ok(results)
    }

    /// Puts `document` in the place of that of the same target and environment, or adds it.
    pub fn upsert(&mut self, document: TargetDocument) {
        match self.targets.iter_mut().find(|old| old.is_of(&document.target, &document.environment)) {
            Some(old) => *old = document,
            None => self.targets.push(document),
        }
    }

    /// Replaces the file at `path` in one step.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let mut text = serde_json::to_string_pretty(self).map_err(std::io::Error::other)?;
        text.push('\n');
        files::replace(path, text.as_bytes())
    }
}

impl TargetDocument {
    /// Refuses figures that cannot have been measured, and GPUs that there are not: a chart divides by some.
    fn check(&self) -> Result<(), String> {
        self.gpu.check().map_err(|error| error.to_string())?;
        self.times().map_err(|implausible| implausible.to_string())
    }

    fn times(&self) -> Result<(), Implausible> {
        let generations = self.generations.iter().map(|generation| generation.best_ms);
        let times = [self.default_ms, self.cublas_ms, self.optimum.as_ref().map(|optimum| optimum.median_ms)];
        let in_use = self.incumbent.as_ref().and_then(|incumbent| incumbent.median_ms);
        let best = self.best.as_ref().map(|best| best.median_ms);
        times
            .into_iter()
            .chain([in_use, best])
            .flatten()
            .chain(generations)
            .try_for_each(|ms| check_ms("a time", ms))?;
        self.generations.iter().try_for_each(|generation| check_count("generation", generation.generation))
    }

    /// Whether this is of `target` in `environment`.
    pub fn is_of(&self, target: &Target, environment: &Environment) -> bool {
        self.target == *target && self.environment == *environment
    }
}
