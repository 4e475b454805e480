//! One schedule on an emulated GPU.

use std::path::Path;
use std::sync::Arc;

use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Arch, Extents, LaunchPlan};
use autokernel_runtime::{Device, EmulatedKernel, Emulation, Error};

use super::operands::{Operands, Rows};
use super::reference::{Expected, References, SEED};
use crate::evaluate::EvaluatorError;
use crate::gpu::compile::{COMPILE_LIMIT, CandidateCompiler, ImageForm};
use crate::gpu::deadline::SharedLimit;
use crate::outcome::Failure;
use crate::target::Target;

/// Instructions of warps that one probe may take: some hundred times what a good schedule needs.
const INSTRUCTIONS: u64 = 1 << 27;

/// An emulated GPU, and an nvcc whose PTX it runs.
#[derive(Debug)]
pub struct Gate {
    compiler: Compiler,
    compile_limit: Arc<SharedLimit>,
    references: References,
    threads: usize,
}

/// Whether a schedule passed, or why not.
pub type Verdict = Result<(), Failure>;

impl Gate {
    /// A gate with the nvcc that is found from `start`, which caches its kernels in `cache`; `threads` schedules at once.
    ///
    /// # Errors
    /// There is no nvcc.
    pub fn open(start: &Path, cache: &Path, threads: usize) -> Result<Self, EvaluatorError> {
        let nvcc = Nvcc::locate(start, cache).map_err(|error| unusable(error.to_string()))?;
        Ok(Gate::new(Compiler::new(nvcc, cache.to_owned()), threads))
    }

    /// A gate with that compiler.
    pub fn new(compiler: Compiler, threads: usize) -> Self {
        let compile_limit = Arc::new(SharedLimit::new(COMPILE_LIMIT));
        Gate { compiler, compile_limit, references: References::default(), threads: threads.max(1) }
    }

    /// Schedules that are checked at once.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs the kernel of `schedule` at each of its probes, the most telling first.
    ///
    /// # Errors
    /// No schedule of `target` can be checked.
    pub fn check(&self, target: &Target, schedule: &Schedule) -> Result<Verdict, EvaluatorError> {
        Device::emulated(target.arch).map_err(|error| unusable(error.to_string()))?;
        let class = target.problem.class();
        let Ok(probes) = class.probes(schedule) else {
            return Ok(Err(Failure::Compile { log: format!("{schedule} computes something else") }));
        };
        for (number, shape) in probes.into_iter().enumerate() {
            // What is compiled in is as small as the probe.
            let problem = target.problem.resized(&shape);
            let probe = Probe { gate: self, problem, arch: target.arch, schedule, shape, number };
            if let Err(failure) = probe.run()? {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(()))
    }
}

/// A schedule at a small shape.
struct Probe<'g> {
    gate: &'g Gate,
    problem: Problem,
    arch: Arch,
    schedule: &'g Schedule,
    shape: Extents,
    number: usize,
}

impl Probe<'_> {
    fn run(&self) -> Result<Verdict, EvaluatorError> {
        let Probe { gate, problem, arch, schedule, shape, .. } = self;
        let expected = gate.references.of(&gate.compiler, problem, *arch, shape).map_err(unusable)?;
        let (_, plan) = match problem.emit(schedule) {
            Ok(emitted) => emitted,
            Err(other) => return Ok(Err(Failure::Compile { log: other.to_string() })),
        };
        let ran = self.ptx(&gate.compiler)?.map(|ptx| self.launch(&plan, &ptx, &expected));
        Ok(match ran {
            Ok(Ok(())) => Ok(()),
            Ok(Err(detail)) => {
                let detail = self.with_lines(&plan, &expected).unwrap_or(detail);
                Err(Failure::Emulated { detail: format!("at {shape}: {detail}") })
            }
            Err(failure) => Err(failure),
        })
    }

    /// The same fault of an image that names the lines of its source: a clean one need not be compiled twice.
    fn with_lines(&self, plan: &LaunchPlan, expected: &Expected) -> Option<String> {
        let ptx = self.ptx(&self.gate.compiler.clone().with_line_info()).ok()?.ok()?;
        self.launch(plan, &ptx, expected).err()
    }

    fn ptx(&self, compiler: &Compiler) -> Result<Result<Vec<u8>, Failure>, EvaluatorError> {
        let (problem, limit) = (self.problem.clone(), Arc::clone(&self.gate.compile_limit));
        let compiler = CandidateCompiler::new(compiler.clone(), problem, self.arch, ImageForm::Ptx, limit);
        let image = match compiler.compile(self.schedule)? {
            Ok(compiled) => compiled.kernel.image,
            Err(failure) => return Ok(Err(failure)),
        };
        std::fs::read(&image).map(Ok).map_err(|error| unusable(format!("{}: {error}", image.display())))
    }

    /// What is wrong, in words.
    fn launch(&self, plan: &LaunchPlan, ptx: &[u8], expected: &Expected) -> Result<(), String> {
        let signature = self.problem.signature();
        let kernel = EmulatedKernel::load(&self.emulation(plan), &signature, plan, ptx).map_err(reason)?;
        // Only the first probe asks that nothing be realigned.
        let rows = if self.number == 0 { Rows::Gapped } else { Rows::Unaligned };
        let mut operands = Operands::new(&self.problem, signature.operands, &self.shape, rows, SEED);
        let launched = operands.arguments().and_then(|mut arguments| kernel.launch(&mut arguments));
        launched.map_err(reason)?;
        let symbol = plan.kernels.last().map_or("", |kernel| &kernel.symbol);
        expected.check(&operands).map_err(|wrong| format!("result: {symbol}: {wrong}"))
    }

    /// Two clusters, so that each walks over several parts; and in each probe another order of events, in the first the one
    /// in which all that is asynchronous ends as late as it may.
    fn emulation(&self, plan: &LaunchPlan) -> Emulation {
        let blocks = plan.kernels.iter().map(|kernel| kernel.grid.cluster).max().unwrap_or(1);
        let emulation = Emulation::new(self.arch).multiprocessors(2 * blocks.max(1));
        emulation.seed(self.number as u64).instruction_budget(INSTRUCTIONS)
    }
}

/// What an emulated GPU says is wrong.
pub fn reason(error: Error) -> String {
    match error {
        Error::Emulated { reason, .. } => reason,
        other => other.to_string(),
    }
}

fn unusable(reason: String) -> EvaluatorError {
    EvaluatorError {
        reason: format!("nothing can be emulated: {reason}"),
        remedy: "--check emulate needs nvcc and a target that the emulator has; leave it out to measure without"
            .to_owned(),
    }
}
