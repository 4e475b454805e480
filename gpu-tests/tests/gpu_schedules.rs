//! Schedules drawn from the tuner's search space, compiled here and held to exact results: what the rules allow must
//! compile without a spill and compute the right product.
//!
//! `AUTOKERNEL_SCHEDULES` sets how many are drawn (60), `AUTOKERNEL_SEED` draws others. Needs nvcc.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use autokernel::matmul::extents;
use autokernel::{CompiledKernel, Device, Extents, LaunchPlan, Matrix, bf16, e4m3, e5m2, f16};
use autokernel_codegen::arch::{Arch, ComputeCapability};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::{self, KernelSource, Operation};
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::matmul::inputs::{INPUTS, outputs};
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::space::families;
use autokernel_codegen::nvcc::{Compiler, Image, Nvcc};
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::{Family, Schedule, space::Space};
use gpu_tests::check::{Case, check};
use gpu_tests::host::{HostMatrix, Sample, Values};
use gpu_tests::place::Place;
use gpu_tests::tolerance::Tolerance;
use gpu_tests::{compiled, reference, settings, shapes, skip};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// What is needed to compile and run: a GPU and nvcc.
struct Bench {
    device: Device,
    arch: Arch,
    compiler: Compiler,
    /// Holds what nvcc wrote until the test ends.
    _cache: tempfile::TempDir,
}

/// A drawn schedule, for one problem.
struct Draw {
    problem: Problem,
    schedule: Schedule,
    source: KernelSource,
    plan: LaunchPlan,
}

fn bench(test: &str) -> Option<Bench> {
    let device = skip::gpu(test)?;
    let cache = tempfile::tempdir().unwrap();
    let nvcc = match Nvcc::locate(Path::new("."), cache.path()) {
        Ok(nvcc) => nvcc,
        Err(error) => {
            skip::log(test, &error.to_string());
            return None;
        }
    };
    let gpu = device.info().unwrap().compute_capability;
    let arch = Arch::of_gpu(ComputeCapability::new(gpu.major, gpu.minor));
    let compiler = Compiler::new(nvcc, cache.path().to_owned());
    Some(Bench { device, arch, compiler, _cache: cache })
}

fn draw(rng: &mut StdRng, arch: Arch, count: usize) -> Vec<Draw> {
    let inputs: Vec<Dtype> = INPUTS.into_iter().filter(|input| !families(*input, arch).is_empty()).collect();
    let exact = ["identity", "relu", "leaky_relu(0.25)"].map(|name| name.parse::<Epilogue>().unwrap());
    let draw = |at: usize| {
        let input = *inputs.choose(rng).unwrap();
        let output = *outputs(input).choose(rng).unwrap();
        let layout = *Layout::of(input).choose(rng).unwrap();
        let problem = Problem { output, ..Problem::new(input, layout, exact.choose(rng).unwrap().clone()) };
        let families = ProblemClass::from(problem.class()).families(arch);
        let space = Space::new(families[at % families.len()], &problem.class(), arch);
        let schedule = *space.schedules().choose(rng).unwrap();
        let (source, plan) = problem.emit(&schedule).unwrap();
        Draw { problem, schedule, source, plan }
    };
    (0..count).map(draw).collect()
}

/// Applies `work` to every item on all cores, and keeps the order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(items.len()) {
            scope.spawn(|| {
                while let Some((at, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
                {
                    let result = work(item);
                    done.lock().unwrap().push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn check_schedule(bench: &Bench, rng: &mut StdRng, draw: &Draw, image: &Image) -> Result<usize, String> {
    let Draw { problem, schedule, plan, .. } = draw;
    if image.report.spills() || image.report.stack_bytes > 0 {
        return Err(format!("{schedule} for {problem} spills: {:?}", image.report));
    }
    // SAFETY: the image was compiled from the source that was emitted with the plan.
    let kernel = unsafe { compiled::load(&bench.device, &signature(problem), plan, image) }?;
    let mut launches = 0;
    for _ in 0..3 {
        let shape = shapes::random(rng, 1200);
        launches += check_shape(bench, rng, draw, &kernel, shape)?;
    }
    Ok(launches)
}

fn check_shape(
    bench: &Bench,
    rng: &mut StdRng,
    draw: &Draw,
    kernel: &CompiledKernel,
    shape: Extents,
) -> Result<usize, String> {
    let problem = &draw.problem;
    let placements = shapes::placements(&shape, problem, |rows, columns| Place::random(rng, rows, columns));
    let epilogue = |x| problem.epilogue.eval(x);
    let seed = rng.random();
    let case = Case { device: &bench.device, problem, epilogue: &epilogue, shape, placements, seed };
    check(&case, Values::Integers, &[(draw.schedule.to_string(), compiled::launch_of(kernel))])
}

#[test]
fn what_the_rules_allow_compiles_without_a_spill_and_is_exact() {
    let test = "gpu_schedules::what_the_rules_allow_compiles_without_a_spill_and_is_exact";
    let Some(bench) = bench(test) else { return };
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 60));
    let draws = draw(&mut rng, bench.arch, settings::number("AUTOKERNEL_SCHEDULES", 60) as usize);
    let images = in_parallel(&draws, |draw| bench.compiler.compile(&draw.source, bench.arch));

    let (mut launches, mut reports) = (0, Vec::new());
    for (draw, image) in draws.iter().zip(&images) {
        let checked = match image {
            Ok(image) => check_schedule(&bench, &mut rng, draw, image),
            Err(error) => Err(format!("{} for {}: {error}", draw.schedule, draw.problem)),
        };
        match checked {
            Ok(count) => launches += count,
            Err(report) => reports.push(report),
        }
    }
    let of_sm90 = draws.iter().filter(|draw| draw.schedule.family() == Family::Sm90).count();
    println!(
        "{test}: {} schedules, {of_sm90} of them sm90, {launches} launches, {} failures",
        draws.len(),
        reports.len()
    );
    assert!(reports.is_empty(), "{} schedules failed:\n{}", reports.len(), reports.join("\n\n"));
}

#[test]
fn the_reference_kernel_agrees_with_the_cpu() {
    let test = "gpu_schedules::the_reference_kernel_agrees_with_the_cpu";
    let Some(bench) = bench(test) else { return };
    let problems: Vec<Problem> = INPUTS
        .into_iter()
        .flat_map(|input| Layout::of(input).iter().map(move |&layout| (input, layout)))
        .flat_map(|(input, layout)| {
            Epilogue::all().into_iter().map(move |epilogue| Problem::new(input, layout, epilogue))
        })
        .collect();
    let sources: Vec<(KernelSource, LaunchPlan)> = problems.iter().map(emit::reference).collect();
    let images = in_parallel(&sources, |(source, _)| bench.compiler.compile(source, bench.arch));
    for ((problem, (_, plan)), image) in problems.iter().zip(&sources).zip(images) {
        let mut signature = signature(problem);
        // What it computes is not rounded.
        signature.operands[2].dtype = Dtype::F32;
        // SAFETY: the image was compiled from the source that was emitted with the plan, and its result is fp32.
        let kernel = unsafe { compiled::load(&bench.device, &signature, plan, &image.unwrap()) }.unwrap();
        for shape in [extents(1, 1, 1), extents(33, 17, 65), extents(100, 40, 300), extents(5, 6, 0)] {
            match problem.input {
                Dtype::Bf16 => check_reference::<bf16>(&bench, problem, &kernel, shape),
                Dtype::E4m3 => check_reference::<e4m3>(&bench, problem, &kernel, shape),
                Dtype::E5m2 => check_reference::<e5m2>(&bench, problem, &kernel, shape),
                Dtype::I8 => check_reference::<i8>(&bench, problem, &kernel, shape),
                Dtype::F32 => check_reference::<f32>(&bench, problem, &kernel, shape),
                _ => check_reference::<f16>(&bench, problem, &kernel, shape),
            }
        }
    }
}

fn check_reference<I: Sample>(bench: &Bench, problem: &Problem, kernel: &CompiledKernel, shape: Extents) {
    let [a_place, b_place, c_place] = shapes::placements(&shape, problem, Place::dense);
    let (a, b) =
        (HostMatrix::<I>::filled(a_place, Values::Uniform, 1), HostMatrix::filled(b_place, Values::Uniform, 2));
    let there = |matrix: &HostMatrix<I>| {
        let elements: Vec<I> = matrix.elements().collect();
        Matrix::from_slice(&bench.device, &elements, matrix.placement.rows, matrix.placement.columns).unwrap()
    };
    let mut out = Matrix::<f32>::zeros(&bench.device, c_place.rows, c_place.columns).unwrap();
    let (a_there, b_there) = (there(&a), there(&b));
    kernel.launch(&bench.device, &mut [(&a_there).into(), (&b_there).into(), (&mut out).into()]).unwrap();
    let sums = reference::product(&shape, problem.layout, &a.to_f64(), &b.to_f64());
    // Summed in fp64 and not rounded: as exact as an f32 sum of nothing.
    let tolerance = Tolerance::of::<f32>(problem.input, 0);
    for (got, sum) in out.to_vec().unwrap().into_iter().zip(sums) {
        let expected = f64::from(problem.epilogue.eval(sum as f32));
        let allowed = tolerance.of_element(sum, expected);
        assert!((f64::from(got) - expected).abs() <= allowed, "{problem}, {shape}: {got}, expected {expected}");
    }
}
