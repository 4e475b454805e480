//! What `tuner tune` does on a machine with a GPU: the same as elsewhere, but measured.

use std::path::Path;
use std::rc::Rc;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_runtime::Device;

use super::bench::Bench;
use super::cli::GpuArgs;
use super::devices::Devices;
use super::evaluator::GpuEvaluator;
use super::sampling::Effort;
use super::seeds::Seeds;
use crate::Target;
use crate::app::Job;
use crate::cli::TuneArgs;
use crate::evaluate::EvaluatorError;

/// Below the output folder: compiled kernels.
const KERNEL_CACHE: &str = "kernels";
/// What `--shape` alone tunes.
const DEFAULT_EPILOGUE: &str = "leaky_relu(0.01)";

/// The jobs on this machine's GPUs, if it can measure: what `--shape` and the other filters describe, or those of the
/// `known` targets whose images these GPUs run. `--spaces` asks for a replay; without GPU or nvcc there is none to choose.
///
/// # Errors
/// GPUs were asked for by `--gpus` and cannot measure.
pub fn jobs(args: &TuneArgs, known: impl Iterator<Item = Target>) -> Result<Option<Vec<Job>>, EvaluatorError> {
    if args.spaces.is_some() {
        return Ok(None);
    }
    let Some(bench) = bench(&args.gpu, &args.out)? else { return Ok(None) };
    let arch = args.arch.unwrap_or(bench.arch());
    let targets: Vec<Target> = match described(args, arch, &bench) {
        targets if targets.is_empty() => known.filter(|target| target.arch == arch && bench.runs(arch)).collect(),
        targets => targets,
    };
    let bench = bench.into_shared();
    let job = |target| {
        let evaluator = Box::new(GpuEvaluator::new(Rc::clone(&bench), Effort::THOROUGH));
        Job { target, evaluator }
    };
    let jobs: Vec<Job> = targets.into_iter().map(job).collect();
    Ok((!jobs.is_empty()).then_some(jobs))
}

/// The bench that `args` describe, with its kernels cached below `out`; none if nobody asked for GPUs and there is none
/// that can measure.
///
/// # Errors
/// Somebody asked for GPUs, and they cannot measure.
pub fn bench(args: &GpuArgs, out: &Path) -> Result<Option<Bench>, EvaluatorError> {
    let asked = args.gpus.is_some() || args.worker.is_some();
    if !asked && !matches!(Device::gpu_count(), Ok(1..)) {
        return Ok(None);
    }
    let cache = out.join(KERNEL_CACHE);
    let cache = std::path::absolute(&cache).unwrap_or(cache);
    let devices = args.gpus.clone().unwrap_or(Devices::one(0));
    match Bench::open(&devices, args.worker.as_deref(), Path::new("."), &cache) {
        Ok(bench) => {
            if let Some(reason) = &bench.gpu().no_nvml {
                eprintln!("note: without NVML, throttling is told from the SM's own counter alone ({reason})");
            }
            Ok(Some(bench.with(args.check_seed.map(Seeds::of_run), args.compile_threads)))
        }
        Err(error) if asked => Err(error),
        Err(error) => {
            eprintln!("warning: there is a GPU, but it cannot be measured on: {error}");
            Ok(None)
        }
    }
}

/// The targets that the options describe by themselves.
fn described(args: &TuneArgs, arch: Arch, bench: &Bench) -> Vec<Target> {
    let default = || DEFAULT_EPILOGUE.parse::<Epilogue>().ok();
    let Some(epilogue) = args.epilogue.clone().or_else(default) else { return Vec::new() };
    let problem = Problem::matmul(args.dtype.unwrap_or(Dtype::Bf16), args.layout.unwrap_or(Layout::Nt), epilogue);
    let wanted = args.problem.as_ref().is_none_or(|slug| *slug == problem.class().slug()) && bench.runs(arch);
    let shapes = args.shape.iter().filter(|_| wanted);
    shapes.map(|&shape| Target { problem: problem.clone(), arch, shape }).collect()
}
