//! What `tuner tune` does on a machine with a GPU: the same as elsewhere, but measured.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_runtime::Device;

use super::bench::Bench;
use super::evaluator::GpuEvaluator;
use super::sampling::Effort;
use crate::Target;
use crate::app::Job;
use crate::cli::TuneArgs;

/// Below the output folder: compiled kernels.
const KERNEL_CACHE: &str = "kernels";
/// The GPU that is tuned for.
const DEVICE: usize = 0;
/// What `--shape` alone tunes.
const DEFAULT_EPILOGUE: &str = "leaky_relu(0.01)";

/// The jobs on this machine's GPU, if it can measure: what `--shape` and the other filters describe, or those of the
/// `known` targets that this GPU serves. `--spaces` asks for a replay; without GPU or nvcc there is none to choose.
pub fn jobs(args: &TuneArgs, known: impl Iterator<Item = Target>) -> Option<Vec<Job>> {
    if args.spaces.is_some() || !matches!(Device::gpu_count(), Ok(1..)) {
        return None;
    }
    let cache = std::path::absolute(args.out.join(KERNEL_CACHE)).ok()?;
    let bench = match Bench::open(DEVICE, Path::new("."), &cache) {
        Ok(bench) => bench,
        Err(error) => {
            eprintln!("warning: there is a GPU, but it cannot be measured on: {error}");
            return None;
        }
    };
    let arch = bench.arch();
    let targets: Vec<Target> = match described(args, &bench) {
        targets if targets.is_empty() => known.filter(|target| target.arch == arch).collect(),
        targets => targets,
    };
    let bench = Rc::new(RefCell::new(bench));
    let job = |target| {
        let evaluator = Box::new(GpuEvaluator::new(Rc::clone(&bench), Effort::THOROUGH));
        Job { target, evaluator }
    };
    let jobs: Vec<Job> = targets.into_iter().map(job).collect();
    (!jobs.is_empty()).then_some(jobs)
}

/// The targets that the options describe by themselves.
fn described(args: &TuneArgs, bench: &Bench) -> Vec<Target> {
    let filter = &args.filter;
    let default = || DEFAULT_EPILOGUE.parse::<Epilogue>().ok();
    let Some(epilogue) = filter.epilogue.clone().or_else(default) else { return Vec::new() };
    let problem = Problem::matmul(filter.dtype.unwrap_or(Dtype::Bf16), filter.layout.unwrap_or(Layout::Nt), epilogue);
    let wanted = filter.problem.as_ref().is_none_or(|slug| *slug == problem.class().slug())
        && filter.arch.is_none_or(|arch| arch == bench.arch());
    let shapes = filter.shape.iter().filter(|_| wanted);
    shapes.map(|&shape| Target { problem: problem.clone(), arch: bench.arch(), shape }).collect()
}
