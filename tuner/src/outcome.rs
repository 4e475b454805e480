//! What became of a schedule: a time, or the true reason why there is none.

use std::fmt;

use autokernel_codegen::nvcc::PtxasReport;
use autokernel_codegen::schedule::{BrokenRule, Schedule};
use autokernel_core::{Implausible, check_amount, check_ms};
use serde::{Deserialize, Serialize};

/// What became of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// It computes the right result, in this time.
    Measured(Measurement),
    /// It cannot be used.
    Failed(Failure),
}

/// How long a launch takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Median time of one launch, in milliseconds.
    pub median_ms: f64,
    /// Interquartile range of the samples over the median, in percent.
    pub spread_pct: f64,
    /// Samples behind the median.
    pub samples: u32,
    /// The SM clock under the measurement, in MHz, where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<u32>,
    /// Energy of one launch on the whole board, in millijoules, where a search asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_mj: Option<f64>,
    /// Samples that were thrown away because the clock was clearly below that of the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled: u32,
    /// The seed of the inputs on which its result was checked, where it was checked here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_seed: Option<u64>,
    /// The kernel's resources, where it was compiled here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<PtxasReport>,
    /// What the time is told by, where it was taken under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<UnderLoad>,
}

/// How a time under load is told: as that of a reference schedule, which ran in turn with it, times their ratio. The clock of the
/// moment is in both, and so in neither.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderLoad {
    /// The reference.
    pub reference: Schedule,
    /// The time over that of the reference.
    pub ratio: f64,
    /// Whether rounds took alike before the first that counts, so that the clock was that of a sustained load.
    pub settled: bool,
}

impl Measurement {
    /// A time with no more known of it than statistics.
    pub fn new(median_ms: f64, spread_pct: f64, samples: u32) -> Self {
        Measurement {
            median_ms,
            spread_pct,
            samples,
            sm_clock_mhz: None,
            energy_mj: None,
            throttled: 0,
            check_seed: None,
            resources: None,
            load: None,
        }
    }

    /// What a search makes small: the energy where it asked for that, else the time.
    pub fn cost(&self) -> f64 {
        self.energy_mj.unwrap_or(self.median_ms)
    }

    /// Refuses figures that cannot have been measured.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self) -> Result<(), Implausible> {
        check_ms("median_ms", self.median_ms)?;
        if let Some(energy_mj) = self.energy_mj {
            check_amount("energy_mj", energy_mj)?;
        }
        if let Some(UnderLoad { ratio, .. }) = self.load {
            check_amount("ratio", ratio)?;
        }
        check_amount("spread_pct", self.spread_pct)
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Why a schedule cannot be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Failure {
    /// It breaks a rule of its kernel family, so it was not compiled.
    BrokenRule {
        /// The rule's name.
        rule: String,
        /// The numbers that break it.
        detail: String,
    },
    /// nvcc refused it.
    Compile {
        /// What nvcc said.
        log: String,
    },
    /// nvcc did not finish.
    CompileTimeout {
        /// The limit, in seconds.
        limit_s: f64,
    },
    /// It spills registers to memory.
    Spill {
        /// Bytes of a thread that are stored.
        bytes: u32,
    },
    /// An emulated GPU found it wrong at a small shape, so no GPU ran it.
    Emulated {
        /// At which shape, the check that found it, the kernel, the lines of the PTX and of its source, and what is wrong.
        detail: String,
    },
    /// It computes something else.
    WrongResult {
        /// How wrong, and where: the worst element with its expected value and the tolerance.
        detail: String,
    },
    /// The launch did not finish.
    Timeout {
        /// The limit, in seconds.
        limit_s: f64,
    },
    /// The launch failed, or the worker process died of it.
    Crash {
        /// The CUDA error, the signal, or both.
        detail: String,
    },
    /// The device has too little memory for this shape.
    OutOfMemory {
        /// What was asked for.
        detail: String,
    },
    /// The recorded space that is replayed does not hold it.
    NotRecorded,
}

impl Failure {
    /// The kind of reason, in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::BrokenRule { .. } => "broken_rule",
            Failure::Compile { .. } => "compile",
            Failure::CompileTimeout { .. } => "compile_timeout",
            Failure::Spill { .. } => "spill",
            Failure::Emulated { .. } => "emulated",
            Failure::WrongResult { .. } => "wrong_result",
            Failure::Timeout { .. } => "timeout",
            Failure::Crash { .. } => "crash",
            Failure::OutOfMemory { .. } => "out_of_memory",
            Failure::NotRecorded => "not_recorded",
        }
    }
}

impl From<BrokenRule> for Failure {
    fn from(broken: BrokenRule) -> Self {
        Failure::BrokenRule { rule: broken.rule.to_owned(), detail: broken.reason }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BrokenRule { rule, detail } => write!(f, "breaks rule `{rule}`: {detail}"),
            Failure::Compile { log } => write!(f, "nvcc refused it: {log}"),
            Failure::CompileTimeout { limit_s } => write!(f, "nvcc did not finish in {limit_s} s"),
            Failure::Spill { bytes } => write!(f, "spills {bytes} bytes of registers"),
            Failure::Emulated { detail } => write!(f, "an emulated GPU found it wrong {detail}"),
            Failure::WrongResult { detail } => write!(f, "wrong result: {detail}"),
            Failure::Timeout { limit_s } => write!(f, "the launch did not finish in {limit_s} s"),
            Failure::Crash { detail } => write!(f, "crashed: {detail}"),
            Failure::OutOfMemory { detail } => write!(f, "out of device memory: {detail}"),
            Failure::NotRecorded => write!(f, "not in the recorded space"),
        }
    }
}

impl Outcome {
    /// The time, if there is one.
    pub fn measurement(&self) -> Option<&Measurement> {
        match self {
            Outcome::Measured(measurement) => Some(measurement),
            Outcome::Failed(_) => None,
        }
    }

    /// The median time in milliseconds, if there is one.
    pub fn median_ms(&self) -> Option<f64> {
        self.measurement().map(|measurement| measurement.median_ms)
    }

    /// What a search makes small, if there is one.
    pub fn cost(&self) -> Option<f64> {
        self.measurement().map(Measurement::cost)
    }

    /// `measured`, or the kind of failure.
    pub fn status(&self) -> &'static str {
        match self {
            Outcome::Measured(_) => "measured",
            Outcome::Failed(failure) => failure.kind(),
        }
    }
}
