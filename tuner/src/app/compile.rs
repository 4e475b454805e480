//! `tuner work --compile`: a process without a GPU that compiles for a study.

use std::path::Path;
use std::sync::Arc;

use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::schedule::Schedule;

use super::ending::Ending;
use super::error::AppError;
use super::work_args::WorkArgs;
use crate::environment::kernel_sources;
use crate::evaluate::EvaluatorError;
use crate::gpu::compile::{COMPILE_LIMIT, CandidateCompiler, ImageForm, helpers};
use crate::gpu::deadline::SharedLimit;
use crate::outcome::Failure;
use crate::stop::Stop;
use crate::study::{CompileWorker, Kind, Link, Queue, Task, Workshop};

/// Compiles until `stop` is requested, or there was nothing to do for as long as `args` say.
///
/// # Errors
/// There is no nvcc or no folder to share, or the study cannot be used.
pub fn compile(args: &WorkArgs, stop: &Stop) -> Result<Ending, AppError> {
    let cache = args.shared_cache().ok_or(AppError::Usage(
        "--compile needs the folder of compiled kernels that machines with GPUs share: --cache DIR or AUTOKERNEL_CACHE_DIR",
    ))?;
    let nvcc = Nvcc::locate(Path::new("."), &cache).map_err(|error| unusable(error.to_string()))?;
    let queue = Queue::open(Link::open(&args.study, stop)?)?;
    let (name, threads) = (args.name(), args.gpu.compile_threads());
    errln!(
        "{name} works for {}: compiling with nvcc {} on {threads} threads into {}",
        args.study,
        nvcc.version,
        cache.display()
    );
    let here = Here { compiler: Compiler::new(nvcc, cache), limit: Arc::new(SharedLimit::new(COMPILE_LIMIT)) };
    let done = CompileWorker::new(queue, name, &here, threads, args.idle(), stop.clone())?.run()?;
    outln!("{} schedules compiled, {} refused", done.compiled, done.refused);
    Ok(if stop.is_requested() { Ending::Interrupted } else { Ending::Finished })
}

/// The nvcc of this machine.
struct Here {
    compiler: Compiler,
    limit: Arc<SharedLimit>,
}

impl Workshop for Here {
    /// What a kernel is made of beside its schedule is its sources and nvcc, whatever the GPU.
    fn serves(&self, task: &Task) -> bool {
        let Task { target, environment } = task;
        environment.nvcc == self.compiler.nvcc().version
            && environment.kernels == kernel_sources(&target.problem.class())
    }

    fn prepare(&self, task: &Task, kinds: &[Kind]) -> Result<(), EvaluatorError> {
        let Task { target, environment } = task;
        for kind in kinds.iter().filter(|kind| kind.gpu.name == environment.gpu) {
            helpers(&self.compiler, &target.problem, kind.arch)?;
        }
        Ok(())
    }

    fn compile(&self, task: &Task, schedule: &Schedule) -> Result<Option<Failure>, EvaluatorError> {
        let (compiler, limit, target) = (self.compiler.clone(), Arc::clone(&self.limit), &task.target);
        // Of which form makes no difference: an image has both.
        let compiler = CandidateCompiler::new(compiler, target.problem.clone(), target.arch, ImageForm::Cubin, limit);
        let outcome = compiler.try_compile(schedule).map_err(|error| unusable(error.to_string()))?;
        Ok(outcome.err())
    }
}

fn unusable(reason: String) -> EvaluatorError {
    EvaluatorError { reason, remedy: "what is compiled stays, and workers with GPUs compile the rest".to_owned() }
}
