//! The T4 results format: what a tuner tried, and what came of it.
//!
//! The format is that of Kernel Tuner and of the autotuning community's TuningSchema, version 1.0.0
//! (github.com/KernelTuner/kernel_tuner, kernel_tuner/schema/T4/1.0.0/results-schema.json and metadata-schema.json). A
//! knob of a schedule is a member of `configuration` by its name (`tile_m`, `raster_group`). Times are in milliseconds.

use std::path::{Path, PathBuf};

use autokernel_codegen::schedule::Schedule;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::columns;
use crate::environment::Environment;
use crate::gpu_facts::GpuFacts;
use crate::outcome::{Failure, Measurement, Outcome};
use crate::replay::Method;
use crate::target::Target;

/// The version of both schemas.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The metadata of a results file: `x.t4.json` has `x.t4.metadata.json`.
pub fn metadata_path(results: &Path) -> PathBuf {
    results.with_extension("metadata.json")
}

/// A results file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// What was tried, in the order of the trials.
    pub results: Vec<Row>,
}

/// A configuration that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The schedule, a member a knob.
    pub configuration: Map<String, Value>,
    /// What it took, in milliseconds.
    pub times: Times,
    /// Whether it can be used, and if not, what stands against it.
    pub invalidity: Invalidity,
    /// 1 if its result was right, else 0.
    pub correctness: f64,
    /// What was measured.
    #[serde(default)]
    pub measurements: Vec<Quantity>,
    /// Which of the measurements were optimised.
    #[serde(default)]
    pub objectives: Vec<String>,
}

/// What trying took, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Times of launches.
    #[serde(default)]
    pub runtimes: Vec<f64>,
    /// All else that trying took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<f64>,
}

/// Whether a configuration can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invalidity {
    /// It did not end in time.
    Timeout,
    /// It does not compile, or not into a kernel worth running.
    Compile,
    /// It fails when it runs.
    Runtime,
    /// It computes something else.
    Correctness,
    /// A rule forbids it.
    Constraints,
    /// It can be used.
    Correct,
}

/// A quantity that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
}

/// A metadata file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetadataFile {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// The contents.
    pub metadata: Metadata,
}

/// Where and how results were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Where, in the community's terms.
    #[serde(default)]
    pub environment: MetadataEnvironment,
    /// What autokernel needs to replay the results.
    pub autokernel: Provenance,
}

/// Where results were measured, in the community's terms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetadataEnvironment {
    /// The GPU.
    #[serde(default)]
    pub device_query: Map<String, Value>,
    /// The programs.
    #[serde(default)]
    pub requirements: Vec<String>,
}

/// What autokernel needs to replay results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// What was tuned.
    pub target: Target,
    /// Where.
    pub environment: Environment,
    /// The GPU, where more than its name is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuFacts>,
    /// How.
    pub method: Method,
}

pub(super) const TIME: &str = "time";
const SPREAD: &str = "spread";
const SAMPLES: &str = "samples";
pub(super) const FAILURE: &str = "failure";

impl Row {
    /// The row of `schedule`, which took `seconds` in all to try.
    pub fn new(timestamp: Option<String>, schedule: &Schedule, outcome: &Outcome, seconds: f64) -> Self {
        let (times, correctness, measurements) = match outcome {
            Outcome::Measured(measured) => (vec![measured.median_ms], 1.0, quantities(measured)),
            Outcome::Failed(failure) => (Vec::new(), 0.0, vec![reason(failure)]),
        };
        Row {
            timestamp,
            configuration: columns::to_map(schedule),
            times: Times { runtimes: times, framework: (seconds > 0.0).then_some(1e3 * seconds) },
            invalidity: Invalidity::of(outcome),
            correctness,
            measurements,
            objectives: vec![TIME.to_owned()],
        }
    }

    /// The schedule.
    ///
    /// # Errors
    /// The configuration is not one of autokernel's schedules.
    pub fn schedule(&self) -> Result<Schedule, serde_json::Error> {
        columns::from_map(&self.configuration)
    }

    /// What came of it.
    ///
    /// # Errors
    /// It is said to be correct and has no time, or one that cannot have been measured.
    pub fn outcome(&self) -> Result<Outcome, String> {
        let number = |name: &str| self.quantity(name).and_then(Value::as_f64);
        if self.invalidity != Invalidity::Correct {
            return Ok(Outcome::Failed(self.failure()));
        }
        let ms = number(TIME).or_else(|| median(&self.times.runtimes));
        let ms = ms.ok_or("it is said to be correct, and has no time")?;
        let samples = number(SAMPLES).map_or(self.times.runtimes.len().max(1) as u32, |count| count as u32);
        let measured = Measurement::new(ms, number(SPREAD).unwrap_or(0.0), samples);
        measured.check().map_err(|implausible| implausible.to_string())?;
        Ok(Outcome::Measured(measured))
    }

    fn failure(&self) -> Failure {
        let own = self.quantity(FAILURE).and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
        let detail = || "another tuner says so, without more".to_owned();
        own.unwrap_or_else(|| match self.invalidity {
            Invalidity::Timeout => Failure::Timeout { limit_s: 0.0 },
            Invalidity::Compile => Failure::Compile { log: detail() },
            Invalidity::Constraints => Failure::BrokenRule { rule: "constraints".to_owned(), detail: detail() },
            Invalidity::Correctness => Failure::WrongResult { detail: detail() },
            Invalidity::Runtime | Invalidity::Correct => Failure::Crash { detail: detail() },
        })
    }

    fn quantity(&self, name: &str) -> Option<&Value> {
        self.measurements.iter().find(|quantity| quantity.name == name).map(|quantity| &quantity.value)
    }
}

impl Invalidity {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Measured(_) => Invalidity::Correct,
            Outcome::Failed(failure) => match failure {
                Failure::BrokenRule { .. } => Invalidity::Constraints,
                Failure::Compile { .. } | Failure::Spill { .. } => Invalidity::Compile,
                Failure::CompileTimeout { .. } | Failure::Timeout { .. } => Invalidity::Timeout,
                Failure::Emulated { .. } | Failure::WrongResult { .. } => Invalidity::Correctness,
                Failure::Crash { .. } | Failure::OutOfMemory { .. } | Failure::NotRecorded => Invalidity::Runtime,
            },
        }
    }
}

fn quantities(measured: &Measurement) -> Vec<Quantity> {
    let quantity = |name: &str, value: Value, unit: &str| Quantity { name: name.into(), value, unit: unit.into() };
    let mut all = vec![
        quantity(TIME, measured.median_ms.into(), "ms"),
        quantity(SPREAD, measured.spread_pct.into(), "%"),
        quantity(SAMPLES, measured.samples.into(), ""),
    ];
    all.extend(measured.sm_clock_mhz.map(|mhz| quantity("sm_clock", mhz.into(), "MHz")));
    all.extend(measured.check_seed.map(|seed| quantity("check_seed", seed.into(), "")));
    all
}

fn reason(failure: &Failure) -> Quantity {
    let value = serde_json::to_string(failure).unwrap_or_default().into();
    Quantity { name: FAILURE.to_owned(), value, unit: String::new() }
}

fn median(times: &[f64]) -> Option<f64> {
    autokernel_runtime::timing::Statistics::of(times).ok().map(|statistics| statistics.median)
}
