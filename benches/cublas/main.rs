//! Every built-in problem against cuBLAS, on a GPU: `cargo bench --bench cublas`.
//!
//! For each shape the candidates run in turn, round after round, on buffers that rotate past the L2 cache, and are
//! compared within each round; see [`comparison`]. One line a shape goes to the terminal, everything to
//! `target/bench/cublas.json`. `AUTOKERNEL_BENCH_SHAPES=4096x4096x4096,…` chooses the shapes,
//! `AUTOKERNEL_BENCH_ROUNDS` the rounds (30), `AUTOKERNEL_BENCH_OUT` the JSON file. Criterion then follows the fused
//! kernel over time at 4096³.

mod comparison;
mod fusion;
mod operands;
mod report;
mod shapes;

use std::time::Duration;

use autokernel::{Device, bf16, builtin};
use autokernel_baseline::Epilogue;
use comparison::{Bench, Comparison, Opponent};
use criterion::{Criterion, criterion_main};
use operands::Operands;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What autokernel offers, and the best that is available without it.
const CASES: [Comparison; 7] = [
    Comparison::new("matmul", &builtin::matmul::KERNEL, Opponent::Gemm(Epilogue::Identity)),
    Comparison::new("matmul_nt", &builtin::matmul_nt::KERNEL, Opponent::Gemm(Epilogue::Identity)),
    Comparison::new("matmul_relu", &builtin::matmul_relu::KERNEL, Opponent::Gemm(Epilogue::Relu)),
    Comparison::new("matmul_relu_nt", &builtin::matmul_relu_nt::KERNEL, Opponent::Gemm(Epilogue::Relu)),
    Comparison::new("matmul_leaky_relu", &builtin::matmul_leaky_relu::KERNEL, Opponent::GemmThenLeakyRelu),
    Comparison::new("matmul_leaky_relu_nt", &builtin::matmul_leaky_relu_nt::KERNEL, Opponent::GemmThenLeakyRelu),
    Comparison::half("matmul_leaky_relu_f16", &builtin::matmul_leaky_relu_f16::KERNEL, Opponent::GemmThenLeakyRelu),
];

fn compare() -> Outcome<()> {
    let device = Device::new(0)?;
    let mut bench = Bench::new(&device)?;
    report::header(bench.info());
    let mut rows = Vec::new();
    for case in &CASES {
        for shape in shapes::chosen()? {
            let row = bench.run(case, shape)?;
            report::line(&row);
            rows.push(row);
        }
    }
    report::summary(&rows);
    for shape in fusion::SHAPES {
        report::fusion(shape, &fusion::cost(&device, shape)?);
    }
    report::save(bench.info(), &rows)
}

/// Criterion's own history of the fused kernel, timed by the GPU's events.
fn follow(criterion: &mut Criterion) -> Outcome<()> {
    let device = Device::new(0)?;
    let mut operands = Operands::<bf16>::new(&device, shapes::SQUARE, false)?;
    let mut timer = autokernel::timing::Timer::new(&device, autokernel::timing::Cache::Warm)?;
    let kernel = &builtin::matmul_leaky_relu::KERNEL;
    criterion.bench_function("matmul_leaky_relu 4096x4096x4096", |bencher| {
        bencher.iter_custom(|launches| {
            let batch = usize::try_from(launches).unwrap_or(usize::MAX);
            let mean_ms = timer.time_batch(batch, |launch| {
                let (a, b, out) = operands.set(launch);
                kernel.launch(a, b, out)
            });
            Duration::from_secs_f64(mean_ms.expect("it ran in the comparison above") * launches as f64 / 1e3)
        });
    });
    Ok(())
}

fn benches() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    match compare().and_then(|()| follow(&mut criterion)) {
        Ok(()) => criterion.final_summary(),
        Err(reason) => println!("skipped: the comparison with cuBLAS: {reason}"),
    }
}

criterion_main!(benches);
