//! A GPU of this machine with an nvcc: compiles candidates and measures them in its worker.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::schedule::Schedule;
use autokernel_runtime::timing::Timing;

use super::compile::{self, CompileOutcome, Finished, ImageGroup};
use super::pool::{Deadlines, GpuPool};
use super::process::WorkerCommand;
use super::protocol::{Candidate, Evaluate, FinalContender, FinalReply, FinalRounds, Gpu, Open, Opened};
use super::sampling::Effort;
use crate::Target;
use crate::environment::{Environment, kernel_sources};
use crate::evaluate::{Contender, Evaluated, EvaluatorError, Final, FinalTime};
use crate::outcome::{Measurement, Outcome};

/// Rounds of a final, and how long each contender runs in one.
pub const FINAL_ROUNDS: u32 = 15;
const FINAL_ROUND_MS: f64 = 10.0;

/// A GPU, an nvcc, and what a time measured with them depends on.
pub struct Bench {
    pool: GpuPool,
    compiler: Compiler,
    gpu: Gpu,
    arch: Arch,
    environment: Environment,
    threads: usize,
}

/// Is told each outcome.
pub type Done<'d> = &'d mut dyn FnMut(Evaluated) -> ControlFlow<()>;

impl Bench {
    /// GPU `device` with the nvcc that is found from `start` and caches its kernels in `cache`.
    ///
    /// # Errors
    /// There is no such GPU, or no nvcc; the message says which.
    pub fn open(device: usize, start: &Path, cache: &Path) -> Result<Self, EvaluatorError> {
        let unusable = |reason: String| EvaluatorError {
            reason,
            remedy: "measuring here needs an NVIDIA GPU and nvcc; without them, tune by replay".to_owned(),
        };
        let nvcc = Nvcc::locate(start, cache).map_err(|error| unusable(error.to_string()))?;
        let command = WorkerCommand::of_this_program(device).map_err(|error| unusable(error.to_string()))?;
        Bench::new(GpuPool::new(command, Deadlines::default()), Compiler::new(nvcc, cache.to_owned()))
    }

    /// A bench of its parts.
    ///
    /// # Errors
    /// The pool has no GPU.
    pub fn new(mut pool: GpuPool, compiler: Compiler) -> Result<Self, EvaluatorError> {
        let gpu = pool.gpu()?;
        let (major, minor) = gpu.compute_capability;
        let environment = Environment {
            gpu: gpu.facts.name.clone(),
            driver: gpu.driver.clone(),
            nvcc: compiler.nvcc().version.clone(),
            kernels: kernel_sources(),
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Bench { pool, compiler, gpu, arch: Arch::of_device(major, minor), environment, threads })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The arch its kernels are compiled for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// What a time measured here depends on.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// How often the worker had to be replaced.
    pub fn replaced(&self) -> u32 {
        self.pool.replaced()
    }

    /// Prepares the matrices and the reference of `target`; a target that is open already costs nothing.
    ///
    /// # Errors
    /// This GPU cannot measure it.
    pub fn prepare(&mut self, target: &Target) -> Result<Opened, EvaluatorError> {
        let Target { problem, arch, shape } = target;
        if *arch != self.arch {
            let reason =
                format!("the target is {arch}, and kernels of {} are compiled for {}", self.gpu.facts.name, self.arch);
            return Err(EvaluatorError { reason, remedy: format!("tune for --arch {}", self.arch) });
        }
        let (reference, instruments) = compile::helpers(&self.compiler, problem, *arch)?;
        self.pool.open(&Open { problem: problem.clone(), shape: *shape, reference, instruments, seed: SEED })
    }

    /// Compiles, checks and times each schedule, and tells `done` as each is known. Schedules that share an image
    /// follow each other; images are compiled ahead on all cores. Once `done` breaks, nothing further is begun.
    ///
    /// # Errors
    /// The GPU or its worker is lost.
    pub fn evaluate(
        &mut self,
        target: &Target,
        schedules: &[Schedule],
        effort: Effort,
        done: Done<'_>,
    ) -> Result<(), EvaluatorError> {
        self.prepare(target)?;
        let groups = ImageGroup::of(schedules);
        let firsts: Vec<Schedule> = groups.iter().map(|group| group.schedules[0]).collect();
        let compiler = self.compiler.clone();
        compile::compile_ahead(&compiler, &target.problem, target.arch, &firsts, self.threads, |finished| {
            let group = &groups[finished.index];
            self.measure_group(group, finished, effort, done)
        })
    }

    fn measure_group(
        &mut self,
        group: &ImageGroup,
        finished: Finished,
        effort: Effort,
        done: Done<'_>,
    ) -> Result<ControlFlow<()>, EvaluatorError> {
        let Finished { outcome, seconds: mut compile_seconds, .. } = finished;
        for &schedule in &group.schedules {
            let start = Instant::now();
            let outcome = self.measure(schedule, &outcome, effort)?;
            let seconds = compile_seconds + start.elapsed().as_secs_f64();
            // The compile counts once, for the schedule that was the first to need it.
            compile_seconds = 0.0;
            if done(Evaluated { schedule, outcome, seconds }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn measure(
        &mut self,
        schedule: Schedule,
        compiled: &CompileOutcome,
        effort: Effort,
    ) -> Result<Outcome, EvaluatorError> {
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(failure) => return Ok(Outcome::Failed(failure.clone())),
        };
        let candidate = Candidate { schedule, kernel: compiled.kernel.clone() };
        let mut outcome = self.pool.evaluate(&Evaluate { candidate, effort })?.outcome;
        if let Outcome::Measured(measurement) = &mut outcome {
            measurement.resources = Some(compiled.report);
        }
        Ok(outcome)
    }

    /// Times cuBLASLt's fastest choice with the epilogue as a kernel of its own, the way a schedule is timed.
    ///
    /// # Errors
    /// The GPU or its worker is lost.
    pub fn baseline(&mut self, target: &Target, effort: Effort) -> Result<Outcome, EvaluatorError> {
        self.prepare(target)?;
        Ok(self.pool.baseline(effort)?.outcome)
    }

    /// Measures contenders again, in turn within each round.
    ///
    /// # Errors
    /// The GPU or its worker is lost.
    pub fn compare(&mut self, target: &Target, contenders: &[Contender]) -> Result<Vec<Final>, EvaluatorError> {
        self.prepare(target)?;
        let mut finals: Vec<Option<Final>> = Vec::new();
        let mut entrants = Vec::new();
        for contender in contenders {
            let entrant = match contender {
                Contender::Cublas => Ok(FinalContender::Cublas),
                Contender::Schedule(schedule) => {
                    let compiled = compile::compile(&self.compiler, &target.problem, target.arch, schedule);
                    let candidate = |kernel| Candidate { schedule: *schedule, kernel };
                    compiled.map(|compiled| FinalContender::Candidate(candidate(compiled.kernel)))
                }
            };
            match entrant {
                Ok(entrant) => {
                    entrants.push(entrant);
                    finals.push(None);
                }
                Err(failure) => finals.push(Some(Err(failure))),
            }
        }
        let request = FinalRounds { contenders: entrants, rounds: FINAL_ROUNDS, round_ms: FINAL_ROUND_MS };
        let mut replies = self.pool.finals(&request)?.into_iter();
        let next = |final_: Option<Final>| final_.or_else(|| replies.next().map(final_of));
        finals.into_iter().map(next).collect::<Option<_>>().ok_or_else(|| EvaluatorError {
            reason: "the worker left out a contender".to_owned(),
            remedy: "run the same version of the tuner throughout".to_owned(),
        })
    }
}

/// Seed of the inputs: fixed, so that a run can be repeated.
const SEED: u64 = 0x6175_746f_6b65_726e;

fn final_of(reply: FinalReply) -> Final {
    match reply {
        FinalReply::Failed { failure } => Err(failure),
        FinalReply::Timed { round_ms, sm_clock_mhz, .. } => match Timing::of_ms(&round_ms) {
            Ok(timing) => {
                let samples = u32::try_from(timing.samples).unwrap_or(u32::MAX);
                let measurement = Measurement::new(timing.median_ms, timing.spread_pct, samples);
                Ok(FinalTime { measurement: Measurement { sm_clock_mhz, ..measurement }, round_ms })
            }
            Err(error) => Err(crate::outcome::Failure::Crash { detail: error.to_string() }),
        },
    }
}
