//! Grouped products on a real GPU through the real worker: offsets and counts are drawn, results are held against the reference group by
//! group, and times come. `cargo xtask gpu-pack` ships this; without a GPU or nvcc it is skipped with a message.
#![cfg(unix)]

mod gpu_support;

use std::path::{Path, PathBuf};

use autokernel_codegen::arch::{Arch, Features};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::{batched_extents, grouped_extents};
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::product;
use autokernel_core::Extents;
use autokernel_runtime::Device;
use tuner::gpu::compile;
use tuner::gpu::pool::{Deadlines, GpuPool};
use tuner::gpu::process::WorkerCommand;
use tuner::gpu::protocol::{Candidate, Evaluate, Kernel, Open};
use tuner::gpu::sampling::Effort;
use tuner::group_sizes::GroupSizes;
use tuner::outcome::{Failure, Outcome};

/// Groups of rows that are looked at in part, parts of K, and slots.
fn problems() -> [(Problem, Extents); 3] {
    let problem = |text: &str| Problem::from(product::problem(&syn::parse_str(text).unwrap()).unwrap());
    [
        (
            problem(
                "fn experts(x: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) { out = silu(dot(x, w.t())); }",
            ),
            grouped_extents(32, 8192, 2048, 1024),
        ),
        (
            problem(
                "fn gradients(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, dw: &mut Batch<f32>) { dw = dot(x.t(), dy); }",
            ),
            grouped_extents(9, 512, 384, 3000),
        ),
        (
            problem(
                "fn slots(x: &Batch<bf16>, w: &Batch<bf16>, counts: &Index, out: &mut Batch<bf16>) { out = dot(x, w.t()); }",
            ),
            batched_extents(12, 300, 512, 256),
        ),
    ]
}

/// The tuner: in a pack for GPU machines beside the tests, else where cargo built it.
fn worker() -> PathBuf {
    match std::env::var_os("AUTOKERNEL_ROOT") {
        Some(root) => Path::new(&root).join("bin/tuner"),
        None => env!("CARGO_BIN_EXE_tuner").into(),
    }
}

/// The worker of a GPU that is here.
struct Gpu {
    pool: GpuPool,
    compiler: Compiler,
    arch: Arch,
    _cache: tempfile::TempDir,
}

impl Gpu {
    fn new(test: &str) -> Option<Self> {
        if !matches!(Device::gpu_count(), Ok(1..)) {
            gpu_support::skip(test, "no GPU");
            return None;
        }
        let cache = tempfile::tempdir().unwrap();
        let nvcc = Nvcc::locate(Path::new("."), cache.path());
        let nvcc = nvcc.inspect_err(|error| gpu_support::skip(test, &error.to_string())).ok()?;
        let compiler = Compiler::new(nvcc, cache.path().to_owned()).with_whole_runtime();
        let mut pool = GpuPool::new(WorkerCommand::of(&worker(), 0), Deadlines::default());
        let (major, minor) = pool.gpu().unwrap().compute_capability;
        let hopper = (major, minor) == (9, 0);
        let arch = if hopper { Arch::SM_90A } else { Arch::new(major as u8, minor as u8, Features::Baseline) };
        Some(Gpu { pool, compiler, arch, _cache: cache })
    }

    fn open(&mut self, problem: &Problem, shape: Extents, group_sizes: GroupSizes) {
        let (reference, instruments) = compile::helpers(&self.compiler, problem, self.arch).unwrap();
        let problem = problem.clone();
        self.pool.open(&Open { problem, shape, group_sizes, reference, instruments, seed: 1 }).unwrap();
    }

    /// What becomes of the kernel of the default schedule, its source changed.
    fn outcome(&mut self, problem: &Problem, seed: u64, change: impl Fn(String) -> String) -> Outcome {
        let schedule = problem.class().default_schedule(self.arch);
        let KernelSource { symbol, cuda } = problem.emit(&schedule).unwrap().0;
        let source = KernelSource { symbol, cuda: change(cuda) };
        let image = self.compiler.compile(&source, self.arch).unwrap().cubin;
        let candidate = Candidate { schedule, kernel: Kernel { symbol: source.symbol, image } };
        self.pool.evaluate(&Evaluate { candidate, effort: Effort::QUICK, seed }).unwrap().outcome
    }
}

#[test]
fn grouped_products_are_measured_on_sizes_of_every_kind() {
    let Some(mut gpu) = Gpu::new("grouped_products_are_measured_on_sizes_of_every_kind") else { return };
    for (problem, shape) in problems() {
        for sizes in [GroupSizes::Zipf, GroupSizes::Uniform, GroupSizes::Even] {
            gpu.open(&problem, shape, sizes);
            for seed in 0..4 {
                let outcome = gpu.outcome(&problem, seed, |cuda| cuda);
                let ms = outcome.median_ms().unwrap_or_else(|| panic!("{problem} at {shape}, {sizes}: {outcome:?}"));
                println!("{problem} at {shape}, {sizes}: {:.1} µs", 1e3 * ms);
            }
        }
    }
}

#[test]
fn a_kernel_that_takes_the_rows_of_another_group_is_wrong() {
    let Some(mut gpu) = Gpu::new("a_kernel_that_takes_the_rows_of_another_group_is_wrong") else { return };
    let [(problem, shape), ..] = problems();
    gpu.open(&problem, shape, GroupSizes::Zipf);
    const OFFSETS: &str = "static_cast<const int32_t*>(args.offsets_)";
    let outcome = gpu.outcome(&problem, 1, |cuda| {
        assert!(cuda.contains(OFFSETS), "{cuda}");
        // Each group is taken for the next one.
        cuda.replace(OFFSETS, "static_cast<const int32_t*>(args.offsets_) + 1")
    });
    assert!(matches!(outcome, Outcome::Failed(Failure::WrongResult { .. })), "{outcome:?}");
    let outcome = gpu.outcome(&problem, 1, |cuda| cuda);
    assert!(outcome.median_ms().is_some(), "{outcome:?}");
}
