//! Kernels that misbehave, on a real GPU through the real worker: each is found out for what it is, and the next schedule is
//! measured as if nothing had been. `cargo xtask gpu-pack` ships this; without a GPU or nvcc it is skipped with a message.
#![cfg(unix)]

mod gpu_support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use autokernel_codegen::arch::{Arch, Features};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::Schedule;
use autokernel_runtime::Device;
use tuner::gpu::compile;
use tuner::gpu::deadline::Limit;
use tuner::gpu::pool::{Deadlines, GpuPool};
use tuner::gpu::process::WorkerCommand;
use tuner::gpu::protocol::{Candidate, Evaluate, Kernel, Open};
use tuner::gpu::sampling::Effort;
use tuner::outcome::{Failure, Outcome};

const LIMIT: Duration = Duration::from_secs(4);
const SEED: u64 = 1234;

/// The worker of a GPU that is here, with a problem open.
struct Gpu {
    pool: GpuPool,
    compiler: Compiler,
    arch: Arch,
    schedule: Schedule,
    cache: tempfile::TempDir,
}

/// The tuner: in a pack for GPU machines beside the tests, else where cargo built it.
fn worker() -> PathBuf {
    match std::env::var_os("AUTOKERNEL_ROOT") {
        Some(root) => Path::new(&root).join("bin/tuner"),
        None => env!("CARGO_BIN_EXE_tuner").into(),
    }
}

fn problem() -> Problem {
    Problem::matmul(Dtype::Bf16, Layout::Nt, "leaky_relu(0.01)".parse().unwrap())
}

impl Gpu {
    fn open(test: &str) -> Option<Self> {
        match Device::gpu_count() {
            Ok(1..) => {}
            _ => {
                gpu_support::skip(test, "no GPU");
                return None;
            }
        }
        let cache = tempfile::tempdir().unwrap();
        let nvcc = match Nvcc::locate(Path::new("."), cache.path()) {
            Ok(nvcc) => nvcc,
            Err(error) => {
                gpu_support::skip(test, &error.to_string());
                return None;
            }
        };
        let compiler = Compiler::new(nvcc, cache.path().to_owned()).with_whole_runtime();
        let deadlines = Deadlines { evaluate: Limit::fixed(LIMIT), ..Deadlines::default() };
        let mut pool = GpuPool::new(WorkerCommand::of(&worker(), 0), deadlines);
        let (major, minor) = pool.gpu().unwrap().compute_capability;
        // The portable family's machine code for exactly this GPU.
        let arch = Arch::new(major as u8, minor as u8, Features::Baseline);
        let schedule = problem().class().default_schedule(arch);
        let (reference, instruments) = compile::helpers(&compiler, &problem(), arch).unwrap();
        let shape = extents(512, 512, 256);
        pool.open(&Open {
            problem: problem(),
            shape,
            group_sizes: Default::default(),
            reference,
            instruments,
            seed: 1,
        })
        .unwrap();
        Some(Gpu { pool, compiler, arch, schedule, cache })
    }

    /// What becomes of the ordinary kernel with `body` instead of its own.
    fn outcome_of(&mut self, body: &str) -> Outcome {
        let KernelSource { symbol, cuda } = problem().emit(&self.schedule).unwrap().0;
        const OWN: &str = "  Kernel::run(args);\n";
        assert!(cuda.contains(OWN), "{cuda}");
        let source = KernelSource { symbol, cuda: cuda.replace(OWN, body) };
        let image = self.compiler.compile(&source, self.arch).unwrap().cubin;
        let candidate = Candidate { schedule: self.schedule, kernel: Kernel { symbol: source.symbol, image } };
        let request = Evaluate { candidate, effort: Effort::QUICK, seed: SEED };
        self.pool.evaluate(&request).unwrap().outcome
    }

    fn assert_measures_on(&mut self, replaced: u32) {
        let outcome = self.outcome_of("  Kernel::run(args);\n");
        assert!(outcome.median_ms().is_some_and(|ms| ms > 0.0), "{outcome:?}");
        assert_eq!(self.pool.replaced(), replaced);
        assert!(self.cache.path().is_dir());
    }
}

fn wrong(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Failed(Failure::WrongResult { detail }) => detail,
        other => panic!("not found out: {other:?}"),
    }
}

#[test]
fn a_kernel_that_never_ends_is_stopped_at_the_limit_and_its_worker_replaced() {
    let Some(mut gpu) = Gpu::open("a_kernel_that_never_ends_is_stopped_at_the_limit_and_its_worker_replaced") else {
        return;
    };
    gpu.assert_measures_on(0);
    let begun = Instant::now();
    let outcome = gpu.outcome_of(include_str!("gpu_fixtures/hangs.cu"));
    assert_eq!(outcome, Outcome::Failed(Failure::Timeout { limit_s: LIMIT.as_secs_f64() }));
    assert!(begun.elapsed() < Duration::from_secs(30));
    gpu.assert_measures_on(1);
}

#[test]
fn a_write_into_the_guard_zone_is_counted_and_costs_no_worker() {
    let Some(mut gpu) = Gpu::open("a_write_into_the_guard_zone_is_counted_and_costs_no_worker") else { return };
    let outcome = gpu.outcome_of(include_str!("gpu_fixtures/writes_behind_the_result.cu"));
    assert!(wrong(&outcome).contains("2 bytes outside"), "{outcome:?}");
    gpu.assert_measures_on(0);
}

#[test]
fn a_write_to_where_no_memory_is_loses_the_context_and_only_that_schedule() {
    let Some(mut gpu) = Gpu::open("a_write_to_where_no_memory_is_loses_the_context_and_only_that_schedule") else {
        return;
    };
    let outcome = gpu.outcome_of(include_str!("gpu_fixtures/writes_far_outside.cu"));
    let Outcome::Failed(Failure::Crash { detail }) = &outcome else { panic!("not found out: {outcome:?}") };
    assert!(detail.contains("CUDA_ERROR"), "{detail}");
    gpu.assert_measures_on(1);
}

#[test]
fn one_wrong_element_is_found_with_its_place_and_the_seed_of_its_inputs() {
    let Some(mut gpu) = Gpu::open("one_wrong_element_is_found_with_its_place_and_the_seed_of_its_inputs") else {
        return;
    };
    let outcome = gpu.outcome_of(include_str!("gpu_fixtures/wrong_in_one_element.cu"));
    let detail = wrong(&outcome);
    assert!(detail.contains("the first, c[0, 0]") && detail.contains(&format!("seed {SEED}")), "{detail}");
    gpu.assert_measures_on(0);
}

#[test]
fn a_kernel_that_writes_nothing_does_not_pass_on_what_stood_there() {
    let Some(mut gpu) = Gpu::open("a_kernel_that_writes_nothing_does_not_pass_on_what_stood_there") else { return };
    gpu.assert_measures_on(0);
    let outcome = gpu.outcome_of(include_str!("gpu_fixtures/writes_nothing.cu"));
    assert!(wrong(&outcome).contains("NaN"), "{outcome:?}");
    gpu.assert_measures_on(0);
}

#[test]
fn a_kernel_that_is_wrong_only_while_it_is_timed_is_found_by_the_check_after() {
    let Some(mut gpu) = Gpu::open("a_kernel_that_is_wrong_only_while_it_is_timed_is_found_by_the_check_after") else {
        return;
    };
    let outcome = gpu.outcome_of(include_str!("gpu_fixtures/wrong_after_a_while.cu"));
    assert!(wrong(&outcome).contains("c[0, 0]"), "{outcome:?}");
    gpu.assert_measures_on(0);
}
