//! What `tuner tune` does on a machine with a GPU: the same as elsewhere, but measured.

use std::rc::Rc;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::problem::{Layout, Problem};

use super::args::TuneArgs;
use super::job::Job;
use crate::demand::Demand;
use crate::evaluate::EvaluatorError;
use crate::filter::{ArchChoice, Filter};
use crate::folder;
use crate::gpu::sampling::Effort;
use crate::gpu::{Bench, GpuEvaluator};
use crate::target::Target;

/// What `--shape` alone tunes.
const DEFAULT_EPILOGUE: &str = "leaky_relu(0.01)";

/// What is wanted of a GPU.
pub enum Wanted<'d> {
    /// These, and nothing else.
    Exactly(&'d [Demand]),
    /// What the options describe by themselves, or else those of these targets that the GPU serves.
    Described(Vec<Target>),
}

/// The jobs on this machine's GPUs, if it can measure. `--spaces` asks for a replay; without GPU or nvcc there is none
/// to choose.
///
/// # Errors
/// GPUs were asked for by `--gpus` and cannot measure.
pub fn jobs(args: &TuneArgs, wanted: &Wanted<'_>) -> Result<Option<Vec<Job>>, EvaluatorError> {
    if args.spaces.is_some() {
        return Ok(None);
    }
    let Some(bench) = args.gpu.bench(&folder::kernels(&args.out))? else { return Ok(None) };
    let arch = match args.filter.arch {
        ArchChoice::Named(arch) => arch,
        ArchChoice::Auto => bench.arch(),
    };
    if !bench.runs(arch) {
        return if args.gpu.gpus.is_some() { Err(cannot_run(arch, &bench)) } else { Ok(None) };
    }
    let bench = bench.pursuing(args.objective)?;
    let targets = targets(&args.filter, wanted, arch);
    let bench = bench.into_shared();
    let job = |target: Target| {
        let evaluator = GpuEvaluator::new(Rc::clone(&bench), &target, Effort::THOROUGH);
        let evaluator = Box::new(evaluator);
        Job { target, evaluator }
    };
    let jobs: Vec<Job> = targets.into_iter().map(job).collect();
    Ok((!jobs.is_empty()).then_some(jobs))
}

fn cannot_run(arch: Arch, bench: &Bench) -> EvaluatorError {
    EvaluatorError {
        reason: format!("{} does not run kernels for {arch}", bench.gpu().facts.name),
        remedy: format!("leave out --arch, or --gpus to replay what was recorded for {arch}"),
    }
}

/// The targets for `arch`.
pub fn targets(filter: &Filter, wanted: &Wanted<'_>, arch: Arch) -> Vec<Target> {
    match wanted {
        Wanted::Exactly(demands) => {
            let target = |demand: &Demand| Target { problem: demand.problem.clone(), arch, shape: demand.shape };
            demands.iter().map(target).collect()
        }
        Wanted::Described(known) => match described(filter, arch) {
            targets if targets.is_empty() => known.iter().filter(|target| target.arch == arch).cloned().collect(),
            targets => targets,
        },
    }
}

/// The targets that the options describe by themselves: one problem, at each `--shape`.
fn described(filter: &Filter, arch: Arch) -> Vec<Target> {
    let Some(problem) = described_problem(filter) else { return Vec::new() };
    let shapes = filter.shape.iter().filter(|&&shape| problem.fits(&shape) && filter.passes(&problem, shape));
    shapes.map(|&shape| Target { problem: problem.clone(), arch, shape }).collect()
}

/// The built-in problem of the class that `--problem` names, else the one that the other options describe.
fn described_problem(filter: &Filter) -> Option<Problem> {
    if let Some(class) = &filter.problem {
        return Problem::built_in()
            .into_iter()
            .find(|problem| problem.class().slug() == *class && passes_problem(filter, problem));
    }
    let defaults = || [DEFAULT_EPILOGUE.parse().ok(), Some(Epilogue::identity())].into_iter().flatten().collect();
    let epilogues: Vec<Epilogue> = filter.epilogue.clone().map_or_else(defaults, |epilogue| vec![epilogue]);
    let (dtype, layout) = (filter.dtype.unwrap_or(Dtype::Bf16), filter.layout.unwrap_or(Layout::Nt));
    if !Layout::of(dtype).contains(&layout) {
        return None;
    }
    let mut products = epilogues.into_iter().map(|epilogue| Problem::matmul(dtype, layout, epilogue));
    let is_of_op = |problem: &Problem| filter.op.as_deref().is_none_or(|op| op == problem.class().attribute());
    products.find(is_of_op)
}

fn passes_problem(filter: &Filter, problem: &Problem) -> bool {
    filter.shape.first().is_some_and(|&shape| filter.passes(problem, shape))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        filter: Filter,
    }

    fn described_by(options: &[&str]) -> Vec<String> {
        let filter = Command::parse_from([&["tuner"], options].concat()).filter;
        described(&filter, Arch::SM_90A).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_shape_is_a_target_of_the_problem_that_the_options_describe() {
        let targets = described_by(&["--shape", "1x2x3", "--shape", "4x5x6", "--epilogue", "gelu", "--layout", "nn"]);
        let of = "matmul nn bf16 -> bf16, epilogue gelu";
        assert_eq!(targets, [format!("{of} · 1x2x3 · sm_90a"), format!("{of} · 4x5x6 · sm_90a")]);
        assert!(described_by(&["--epilogue", "gelu"]).is_empty(), "no shape");
        assert!(
            described_by(&["--shape", "1x2x3", "--dtype", "f32", "--layout", "nn"]).is_empty(),
            "no kernel reads it"
        );
    }

    #[test]
    fn an_op_without_an_epilogue_describes_the_plain_product_or_leaky_relu() {
        for (op, epilogue) in [("matmul", "identity"), ("fused_matmul", "leaky_relu(0.01)")] {
            let targets = described_by(&["--shape", "1x2x3", "--op", op]);
            assert_eq!(targets, [format!("matmul nt bf16 -> bf16, epilogue {epilogue} · 1x2x3 · sm_90a")]);
        }
        assert!(described_by(&["--shape", "1x2x3", "--op", "matmul", "--epilogue", "relu"]).is_empty());
    }

    #[test]
    fn a_class_by_name_describes_its_problem() {
        let targets = described_by(&["--shape", "1x2x3", "--problem", "matmul_silu_f16_f32_nn"]);
        assert_eq!(targets, ["matmul nn f16 -> f32, epilogue silu · 1x2x3 · sm_90a"]);
    }
}
