//! What the tuner and its worker say to each other: JSON lines, one request then one reply.

use std::path::PathBuf;

use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use serde::{Deserialize, Serialize};

use super::sampling::Effort;
use crate::gpu_facts::GpuFacts;
use crate::group_sizes::GroupSizes;
use crate::outcome::{Failure, Outcome};

/// What the worker is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Which GPU there is. Answered by [`Reply::Gpu`].
    Gpu,
    /// Prepare matrices and the reference result of a problem at a shape; what was open is closed.
    /// Answered by [`Reply::Opened`] or [`Reply::Failed`].
    Open(Box<Open>),
    /// Check and time a candidate. Answered by [`Reply::Evaluated`].
    Evaluate(Evaluate),
    /// Time cuBLASLt's fastest choice with the epilogue as a kernel of its own, the way a candidate is timed.
    /// Answered by [`Reply::Evaluated`].
    Baseline {
        /// How thoroughly.
        effort: Effort,
    },
    /// Time several candidates in turn. Answered by [`Reply::Finals`].
    Final(FinalRounds),
}

/// A problem at a shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// What is computed.
    pub problem: Problem,
    /// At which shape.
    pub shape: Extents,
    /// How large its groups are, where it has such.
    #[serde(default)]
    pub group_sizes: GroupSizes,
    /// The reference kernel of the problem (`emit_reference`).
    pub reference: Kernel,
    /// The worker's own kernels, compiled for the problem.
    pub instruments: Kernel,
    /// Seed of the random inputs that timing rotates through; each check has its own.
    pub seed: u64,
}

/// A kernel in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name inside the image.
    pub symbol: String,
    /// The image: a cubin, or PTX (`*.ptx`) for the driver to compile where no cubin runs.
    pub image: PathBuf,
}

/// A schedule and its compiled kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The schedule.
    pub schedule: Schedule,
    /// Its kernel.
    pub kernel: Kernel,
}

/// Check and time one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluate {
    /// Which.
    pub candidate: Candidate,
    /// How thoroughly.
    pub effort: Effort,
    /// Seed of the inputs that its results are checked on.
    pub seed: u64,
}

/// Time several candidates in turn, round after round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinalRounds {
    /// Who meets. Each is checked first.
    pub contenders: Vec<FinalContender>,
    /// How often each is timed.
    pub rounds: u32,
    /// How long each is timed in a round, in milliseconds.
    pub round_ms: f64,
    /// How long rounds are run in all before the first that counts, in milliseconds, so that the chip is as warm as
    /// under a sustained load.
    pub warm_up_ms: f64,
    /// How long they may run so until rounds take alike, in milliseconds; no longer than `warm_up_ms` for 0.
    #[serde(default)]
    pub settle_ms: f64,
    /// Whether each is checked behind the rounds, too.
    #[serde(default)]
    pub check_again: bool,
    /// How long each runs for the board's counter of energy, in milliseconds; not at all for 0.
    #[serde(default)]
    pub energy_ms: f64,
    /// Seed of the inputs that each contender is checked on first.
    pub seed: u64,
}

/// Who meets in a final.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalContender {
    /// A compiled schedule.
    Candidate(Candidate),
    /// The fastest of cuBLASLt's own choices, then the epilogue as a kernel of its own.
    Cublas,
    /// The same product without the epilogue.
    CublasProduct,
}

/// What the worker answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The GPU.
    Gpu(Gpu),
    /// The problem is open.
    Opened(Opened),
    /// What became of a candidate.
    Evaluated(Evaluated),
    /// What became of each contender, in the order asked.
    Finals {
        /// One for each contender.
        finals: Vec<FinalReply>,
        /// Whether rounds took alike before the first that counted.
        #[serde(default)]
        settled: bool,
    },
    /// The request cannot be served.
    Failed {
        /// Why.
        failure: Failure,
        /// Whether the worker must be replaced.
        fatal: bool,
    },
}

/// The GPU of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// What schedules depend on.
    pub facts: GpuFacts,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// The driver's version.
    pub driver: String,
    /// Why the clocks and the reasons of throttling cannot be read through NVML; `None` if they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_nvml: Option<String>,
    /// Why the board's counter of energy cannot be read; `None` if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_energy: Option<String>,
}

/// An open problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Sets of A, B and C that launches rotate through.
    pub buffer_sets: usize,
    /// Whether a set has left the L2 cache by the time it is used again.
    pub cold_l2: bool,
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluated {
    /// Its time, or why there is none.
    pub outcome: Outcome,
    /// The shortest sample, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ms: Option<f64>,
    /// Whether the CUDA context is lost, so that the worker must be replaced.
    pub fatal: bool,
}

/// How a contender fared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum FinalReply {
    /// Its median time in each round, in milliseconds.
    Timed {
        /// One for each round.
        round_ms: Vec<f64>,
        /// The mean SM clock over all its rounds, in MHz.
        sm_clock_mhz: Option<u32>,
        /// The energy of a launch, in millijoules, where it was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        energy_mj: Option<f64>,
        /// Which kernel it was, where it chose one itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<String>,
    },
    /// It could not be timed.
    Failed {
        /// Why.
        failure: Failure,
    },
}
