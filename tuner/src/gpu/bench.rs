//! The GPUs of this machine with an nvcc: compiles candidates and measures them in their workers.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_runtime::timing::Timing;
use rayon::prelude::*;

use super::compile::{self, COMPILE_LIMIT, CandidateCompiler, ImageForm};
use super::deadline::{Limit, SharedLimit};
use super::devices::Devices;
use super::fanout::Fanout;
use super::load::{self, Standard};
use super::pool::{Deadlines, GpuPool};
use super::process::WorkerCommand;
use super::protocol::{Candidate, FinalContender, FinalReply, FinalRounds, Gpu, Open, Opened};
use super::sampling::Effort;
use super::seeds::Seeds;
use crate::Target;
use crate::bridge::capability;
use crate::environment::{Environment, kernel_sources};
use crate::evaluate::{Contender, Done, EvaluatorError, Final, FinalTime, Rounds};
use crate::group_sizes::GroupSizes;
use crate::intents::Intents;
use crate::numbers;
use crate::objective::Objective;
use crate::outcome::{Failure, Measurement, Outcome};
use crate::regime::{Regime, RegimeChoice};

/// GPUs of one kind, an nvcc, and what a time measured with them depends on.
pub struct Bench {
    pools: Vec<GpuPool>,
    /// Workers that GPUs which are lost by now have cost.
    replaced_before: u32,
    compiler: Compiler,
    compile_limit: Arc<SharedLimit>,
    gpu: Gpu,
    arch: Arch,
    threads: usize,
    seeds: Seeds,
    objective: Objective,
    group_sizes: GroupSizes,
    regime: RegimeChoice,
    /// What times under load are told by, of each target that had some.
    standards: Vec<(Target, Arc<Standard>)>,
}

impl Bench {
    /// The GPUs `devices` with the nvcc that is found from `start` and caches its kernels in `cache`. Each GPU has a worker
    /// of its own, which `worker` starts (this program if it is not named).
    ///
    /// # Errors
    /// There is no such GPU, one differs from the first, or there is no nvcc; the message says which.
    pub fn open(devices: &Devices, worker: Option<&Path>, start: &Path, cache: &Path) -> Result<Self, EvaluatorError> {
        let nvcc = Nvcc::locate(start, cache).map_err(|error| unusable(error.to_string()))?;
        let pool = |ordinal| {
            let command = match worker {
                None => WorkerCommand::of_this_program(ordinal).map_err(|error| unusable(error.to_string()))?,
                Some(program) => WorkerCommand::of(program, ordinal),
            };
            Ok(GpuPool::new(command, Deadlines::default()).of_gpu(ordinal))
        };
        let ordinals = devices.ordinals().map_err(unusable)?;
        let pools = ordinals.into_iter().map(pool).collect::<Result<Vec<_>, _>>()?;
        Bench::new(pools, Compiler::new(nvcc, cache.to_owned()))
    }

    /// A bench of its parts.
    ///
    /// # Errors
    /// A pool has no GPU, or not the same as the first.
    pub fn new(mut pools: Vec<GpuPool>, compiler: Compiler) -> Result<Self, EvaluatorError> {
        let Some((first, others)) = pools.split_first_mut() else {
            return Err(unusable("no GPU was chosen".to_owned()));
        };
        let gpu = first.gpu()?;
        for other in others {
            refuse_another_kind((first.ordinal(), &gpu), (other.ordinal(), &other.gpu()?))?;
        }
        let (major, minor) = gpu.compute_capability;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Bench {
            pools,
            replaced_before: 0,
            compiler,
            compile_limit: Arc::new(SharedLimit::new(COMPILE_LIMIT)),
            gpu,
            arch: Arch::of_gpu(capability((major, minor))),
            threads,
            seeds: Seeds::random(),
            objective: Objective::Time,
            group_sizes: GroupSizes::default(),
            regime: RegimeChoice::Rest,
            standards: Vec::new(),
        })
    }

    /// The same bench with other seeds for its checks, or as many threads to compile on.
    pub fn with(self, seeds: Option<Seeds>, threads: Option<usize>) -> Self {
        Bench { seeds: seeds.unwrap_or(self.seeds), threads: threads.unwrap_or(self.threads), ..self }
    }

    /// The same bench with groups of such sizes, on which grouped products are checked and timed.
    pub fn with_group_sizes(self, group_sizes: GroupSizes) -> Self {
        Bench { group_sizes, ..self }
    }

    /// The same bench with schedules timed in that state of the GPU; after a rest unless it is said.
    pub fn timing(self, regime: RegimeChoice) -> Self {
        Bench { regime, ..self }
    }

    /// The same bench for searches that make `objective` small.
    ///
    /// # Errors
    /// The GPU does not tell it.
    pub fn pursuing(self, objective: Objective) -> Result<Self, EvaluatorError> {
        match &self.gpu.no_energy {
            Some(why) if objective == Objective::Energy => Err(EvaluatorError {
                reason: format!("{} does not tell what energy it takes: {why}", self.gpu.facts.name),
                remedy: "leave --objective out, or tune where NVML tells it: on data-centre GPUs from Volta on"
                    .to_owned(),
            }),
            _ => Ok(Bench { objective, ..self }),
        }
    }

    /// Milliseconds of launches for a reading of the energy, where it is asked for.
    fn energy_ms(&self) -> f64 {
        if self.objective == Objective::Energy { Effort::ENERGY_MS } else { 0.0 }
    }

    /// The same bench with a fixed limit for one compile.
    pub fn with_compile_limit(self, limit: Duration) -> Self {
        Bench { compile_limit: Arc::new(SharedLimit::new(Limit::fixed(limit))), ..self }
    }

    /// The same bench, for evaluators to share.
    pub fn into_shared(self) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(self))
    }

    /// The GPU, the same for all.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The version of the nvcc.
    #[cfg(feature = "study")]
    pub(crate) fn nvcc_version(&self) -> &str {
        &self.compiler.nvcc().version
    }

    /// The arch that serves the GPU best.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether the GPU can run images for `arch`.
    pub fn runs(&self, arch: Arch) -> bool {
        ImageForm::on_device(arch, self.gpu.compute_capability).is_some()
    }

    /// The state of the GPU in which schedules of `target` are timed.
    pub fn regime(&self, target: &Target) -> Regime {
        self.regime.of(target, &self.gpu.facts, self.objective)
    }

    /// What a time measured here of `target` depends on.
    pub fn environment(&self, target: &Target) -> Environment {
        Environment { regime: self.regime(target), ..self.rested(&target.problem) }
    }

    /// What a time of `problem` after a rest depends on.
    pub fn rested(&self, problem: &Problem) -> Environment {
        Environment {
            gpu: self.gpu.facts.name.clone(),
            driver: self.gpu.driver.clone(),
            nvcc: self.compiler.nvcc().version.clone(),
            kernels: kernel_sources(&problem.class()),
            objective: self.objective,
            group_sizes: if numbers::has_groups(problem) { self.group_sizes } else { GroupSizes::default() },
            regime: Regime::Rest,
        }
    }

    /// The numbers of the GPUs in use.
    pub fn ordinals(&self) -> Vec<usize> {
        self.pools.iter().map(GpuPool::ordinal).collect()
    }

    /// How often a worker had to be replaced.
    pub fn replaced(&self) -> u32 {
        self.replaced_before + self.pools.iter().map(GpuPool::replaced).sum::<u32>()
    }

    /// Prepares the matrices of `target` on the first GPU; a target that is open already costs nothing.
    ///
    /// # Errors
    /// This GPU cannot measure it.
    pub fn prepare(&mut self, target: &Target) -> Result<Opened, EvaluatorError> {
        let open = self.request_to_open(target)?;
        self.first()?.open(&open)
    }

    fn first(&mut self) -> Result<&mut GpuPool, EvaluatorError> {
        self.pools.first_mut().ok_or_else(|| unusable("every GPU is lost".to_owned()))
    }

    fn request_to_open(&self, target: &Target) -> Result<Open, EvaluatorError> {
        self.form(target.arch)?;
        let Target { problem, shape, .. } = target;
        // The worker's own kernels are for this GPU, whatever the target's arch.
        let (reference, instruments) = compile::helpers(&self.compiler, problem, self.arch)?;
        let (problem, group_sizes) = (problem.clone(), self.group_sizes);
        Ok(Open { problem, shape: *shape, group_sizes, reference, instruments, seed: TIMING_SEED })
    }

    fn form(&self, arch: Arch) -> Result<ImageForm, EvaluatorError> {
        ImageForm::on_device(arch, self.gpu.compute_capability).ok_or_else(|| EvaluatorError {
            reason: format!("the target is {arch}, and {} cannot run its images", self.gpu.facts.name),
            remedy: format!("tune for --arch {}", self.arch),
        })
    }

    fn candidate_compiler(&self, target: &Target) -> Result<CandidateCompiler, EvaluatorError> {
        let form = self.form(target.arch)?;
        let (compiler, limit) = (self.compiler.clone(), Arc::clone(&self.compile_limit));
        Ok(CandidateCompiler::new(compiler, target.problem.clone(), target.arch, form, limit))
    }

    /// Compiles what is going to be compared, on all cores at once, so that comparing finds it in the cache. What does not compile
    /// says so there.
    ///
    /// # Errors
    /// Nothing can be compiled here.
    pub fn compile_ahead(&self, wanted: &[(Target, Schedule)]) -> Result<(), EvaluatorError> {
        let mut problems: Vec<&Problem> = Vec::new();
        let mut images: Vec<(&Problem, Schedule)> = Vec::new();
        let mut jobs: Vec<(CandidateCompiler, Schedule)> = Vec::new();
        for (target, schedule) in wanted {
            let (problem, image) = (&target.problem, schedule.image());
            if !problems.contains(&problem) {
                problems.push(problem);
            }
            if !images.contains(&(problem, image)) {
                images.push((problem, image));
                jobs.push((self.candidate_compiler(target)?, *schedule));
            }
        }
        let (compiler, arch) = (&self.compiler, self.arch);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        threads.map_err(|error| unusable(error.to_string()))?.install(|| {
            problems.par_iter().try_for_each(|problem| compile::helpers(compiler, problem, arch).map(drop))?;
            jobs.par_iter().try_for_each(|(compiler, schedule)| compiler.compile(schedule).map(drop))
        })
    }

    /// Compiles, checks and times each schedule, and tells `done` as each is known. Images are compiled ahead on all cores
    /// while every GPU takes what is ready. `intents` are told before each launch. Once `done` breaks, nothing further is
    /// begun; it is still told of what was under way.
    ///
    /// # Errors
    /// Every GPU or its worker is lost.
    pub fn evaluate(
        &mut self,
        target: &Target,
        schedules: &[Schedule],
        effort: Effort,
        intents: Option<&Intents>,
        done: Done<'_>,
    ) -> Result<(), EvaluatorError> {
        let compiler = self.candidate_compiler(target)?;
        let is_loaded = self.regime(target) == Regime::Load;
        let effort = if is_loaded { Effort::SOUNDING } else { Effort { energy_ms: self.energy_ms(), ..effort } };
        let standard = is_loaded.then(|| self.standard(target));
        let load = standard.as_deref();
        let mut pools = std::mem::take(&mut self.pools);
        let fanout = Fanout { compiler, threads: self.threads, effort, load, seeds: &self.seeds, intents };
        let result = fanout.run(&mut pools, schedules, || self.request_to_open(target), done);
        self.pools = pools;
        for (place, error) in result?.into_iter().rev() {
            let pool = self.pools.remove(place);
            self.replaced_before += pool.replaced();
            errln!("warning: GPU {} is left out from here on: {error}", pool.ordinal());
        }
        Ok(())
    }

    /// Times cuBLASLt's fastest choice with the epilogue as a kernel of its own, the way a schedule is timed.
    ///
    /// # Errors
    /// The GPU or its worker is lost.
    pub fn baseline(&mut self, target: &Target, effort: Effort) -> Result<Outcome, EvaluatorError> {
        self.prepare(target)?;
        if self.regime(target) == Regime::Rest {
            return Ok(self.first()?.baseline(effort)?.outcome);
        }
        let (compiler, standard, seed) = (self.candidate_compiler(target)?, self.standard(target), self.seeds.next());
        let not_timed = || Failure::Crash { detail: "there is no reference to time it with under load".to_owned() };
        let Some(reference) = standard.reference(&[], &compiler)? else {
            return Ok(Outcome::Failed(not_timed()));
        };
        let times = standard.times(reference, &[FinalContender::Cublas], load::ROUNDS, self.first()?, seed)?;
        let time = times.and_then(|times| times.into_iter().next().unwrap_or_else(|| Err(not_timed())));
        Ok(time.map_or_else(Outcome::Failed, Outcome::Measured))
    }

    /// What times under load of `target` are told by.
    fn standard(&mut self, target: &Target) -> Arc<Standard> {
        if let Some((_, standard)) = self.standards.iter().find(|(of, _)| of == target) {
            return Arc::clone(standard);
        }
        let standard = Arc::new(Standard::new(target, &self.gpu.facts));
        self.standards.push((target.clone(), Arc::clone(&standard)));
        standard
    }

    /// Measures contenders again on one GPU, in turn within each round.
    ///
    /// A contender that takes the worker down is found by checking each alone; it is out, and the others meet again.
    ///
    /// # Errors
    /// The GPU or its worker is lost, or falls again.
    pub fn compare(
        &mut self,
        target: &Target,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<Final>, EvaluatorError> {
        self.prepare(target)?;
        let mut finals: Vec<Option<Final>> = Vec::new();
        let mut entrants = Vec::new();
        let compiler = self.candidate_compiler(target)?;
        for contender in contenders {
            let entrant = match contender {
                Contender::Cublas => Ok(FinalContender::Cublas),
                Contender::Schedule(schedule) => compiler.compile(schedule)?.map(|compiled| {
                    FinalContender::Candidate(Candidate { schedule: *schedule, kernel: compiled.kernel })
                }),
            };
            match entrant {
                Ok(entrant) => {
                    entrants.push(entrant);
                    finals.push(None);
                }
                Err(failure) => finals.push(Some(Err(failure))),
            }
        }
        let replies = match self.hold(&entrants, rounds) {
            Ok(replies) => replies,
            Err(fall) => self.hold_without_the_guilty(entrants, rounds, &fall)?,
        };
        let mut replies = replies.into_iter();
        let next = |final_: Option<Final>| final_.or_else(|| replies.next().map(final_of));
        finals.into_iter().map(next).collect::<Option<_>>().ok_or_else(|| EvaluatorError {
            reason: "the worker left out a contender".to_owned(),
            remedy: "run the same version of the tuner throughout".to_owned(),
        })
    }

    fn hold(&mut self, entrants: &[FinalContender], rounds: Rounds) -> Result<Vec<FinalReply>, EvaluatorError> {
        let request = FinalRounds {
            contenders: entrants.to_vec(),
            rounds: rounds.count,
            round_ms: rounds.round_ms,
            warm_up_ms: rounds.warm_up_ms,
            settle_ms: 0.0,
            check_again: false,
            energy_ms: self.energy_ms(),
            seed: self.seeds.next(),
        };
        self.first()?.finals(&request)
    }

    fn hold_without_the_guilty(
        &mut self,
        entrants: Vec<FinalContender>,
        rounds: Rounds,
        fall: &EvaluatorError,
    ) -> Result<Vec<FinalReply>, EvaluatorError> {
        errln!("warning: the final broke off ({fall}); each contender is checked alone, and the others meet again");
        let mut failures: Vec<Option<Failure>> = Vec::new();
        for entrant in &entrants {
            let FinalContender::Candidate(candidate) = entrant else {
                failures.push(None);
                continue;
            };
            let seed = self.seeds.next();
            let request = super::protocol::Evaluate { candidate: candidate.clone(), effort: Effort::QUICK, seed };
            failures.push(match self.first()?.evaluate(&request)?.outcome {
                Outcome::Measured(_) => None,
                Outcome::Failed(failure) => Some(failure),
            });
        }
        let innocent: Vec<FinalContender> = entrants
            .into_iter()
            .zip(&failures)
            .filter_map(|(entrant, failure)| failure.is_none().then_some(entrant))
            .collect();
        let mut replies = self.hold(&innocent, rounds)?.into_iter();
        let reply = |failure| match failure {
            Some(failure) => Some(FinalReply::Failed { failure }),
            None => replies.next(),
        };
        Ok(failures.into_iter().filter_map(reply).collect())
    }
}

/// Seed of the inputs that timing rotates through: times of the same data can be compared from run to run. Checks draw
/// theirs afresh.
const TIMING_SEED: u64 = 0x6175_746f_6b65_726e;

fn unusable(reason: String) -> EvaluatorError {
    EvaluatorError {
        reason,
        remedy: "measuring needs an NVIDIA GPU and nvcc; without them, `tuner` without --gpus replays recorded spaces"
            .to_owned(),
    }
}

fn refuse_another_kind(first: (usize, &Gpu), other: (usize, &Gpu)) -> Result<(), EvaluatorError> {
    let kind = |gpu: &Gpu| (gpu.facts.clone(), gpu.compute_capability, gpu.driver.clone());
    if kind(first.1) == kind(other.1) {
        return Ok(());
    }
    let words = |(ordinal, gpu): (usize, &Gpu)| {
        let facts = &gpu.facts;
        format!("GPU {ordinal} is {} with {} SMs", facts.name, facts.sm_count)
    };
    Err(EvaluatorError {
        reason: format!("{}, but {}: their times cannot be compared", words(other), words(first)),
        remedy: format!("leave {} out of --gpus, or tune on it alone into another --out", other.0),
    })
}

fn final_of(reply: FinalReply) -> Final {
    match reply {
        FinalReply::Failed { failure } => Err(failure),
        FinalReply::Timed { round_ms, sm_clock_mhz, energy_mj, .. } => match Timing::of_ms(&round_ms) {
            Ok(timing) => {
                let samples = u32::try_from(timing.samples).unwrap_or(u32::MAX);
                let measurement = Measurement::new(timing.median_ms, timing.spread_pct, samples);
                Ok(FinalTime { measurement: Measurement { sm_clock_mhz, energy_mj, ..measurement }, round_ms })
            }
            Err(error) => Err(Failure::Crash { detail: error.to_string() }),
        },
    }
}
