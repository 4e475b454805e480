//! Every built-in problem against cuBLAS, on a GPU: `cargo bench --bench cublas`.
//!
//! For each shape the candidates run in turn, round after round, and are compared within each round; see
//! [`comparison`]. The tables:
//!
//! - `cold`: the shapes that people run, on buffers that rotate past the L2 cache
//! - `hot`: some of them on one set of buffers, as benchmarks of other projects do
//! - `odd`: rows that are not aligned to 16 bytes
//! - `decode`: few tokens, beside a copy of device memory in the same rounds
//!
//! One line a row goes to the terminal, everything to `target/bench/cublas.json`. `AUTOKERNEL_BENCH_TABLES=cold,hot,…`
//! chooses the tables, `AUTOKERNEL_BENCH_SHAPES=4096x4096x4096,…` the shapes of the first, `AUTOKERNEL_BENCH_ROUNDS`
//! the rounds (30), `AUTOKERNEL_BENCH_OUT` the JSON file. Criterion then follows the fused kernel over time at 4096³.

mod comparison;
mod copy;
mod fusion;
mod operands;
mod overhead;
mod report;
mod shapes;

use std::time::Duration;

use autokernel::{Device, Extents, bf16, builtin, matmul};
use autokernel_baseline::Epilogue;
use comparison::{Bench, Beside, Comparison, Opponent, Row};
use criterion::{Criterion, criterion_main};
use operands::{Buffers, Operands};

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

/// Some of the cases at some shapes.
struct Table {
    name: &'static str,
    cases: &'static [&'static str],
    shapes: Vec<Extents>,
    buffers: Buffers,
    beside: Beside,
}

fn tables() -> Outcome<Vec<Table>> {
    const ALL: &[&str] = &[];
    const PLAIN: &[&str] = &["matmul", "matmul_nt"];
    const PLAIN_AND_FUSED: &[&str] = &["matmul", "matmul_nt", "matmul_leaky_relu", "matmul_leaky_relu_nt"];
    let table = |name, cases, shapes, buffers, beside| Table { name, cases, shapes, buffers, beside };
    let all = vec![
        table("cold", ALL, shapes::chosen()?, Buffers::Rotating, Beside::Nothing),
        table("hot", PLAIN_AND_FUSED, shapes::HOT.to_vec(), Buffers::Reused, Beside::Nothing),
        table("odd", PLAIN, shapes::ODD.to_vec(), Buffers::Rotating, Beside::Nothing),
        table("decode", PLAIN, shapes::DECODE.to_vec(), Buffers::Rotating, Beside::Copy),
    ];
    let Ok(wanted) = std::env::var("AUTOKERNEL_BENCH_TABLES") else { return Ok(all) };
    let wanted: Vec<&str> = wanted.split(',').map(str::trim).collect();
    if let Some(unknown) = wanted.iter().find(|name| all.iter().all(|table| table.name != **name)) {
        return Err(format!("AUTOKERNEL_BENCH_TABLES: there is no table `{unknown}`").into());
    }
    Ok(all.into_iter().filter(|table| wanted.contains(&table.name)).collect())
}

fn compare() -> Outcome<()> {
    let device = Device::new(0)?;
    let bench = Bench::new(&device)?;
    report::header(bench.info());
    let mut rows: Vec<Row> = Vec::new();
    for table in tables()? {
        println!("{} ({} L2)", table.name, table.buffers.cache());
        let chosen = |case: &&Comparison| table.cases.is_empty() || table.cases.contains(&case.name);
        let first = rows.len();
        for case in CASES.iter().filter(chosen) {
            for &shape in &table.shapes {
                let row = bench.run(case, shape, table.buffers, table.beside)?;
                report::line(&row);
                rows.push(row);
            }
        }
        report::summary(&rows[first..]);
    }
    for shape in fusion::SHAPES {
        report::fusion(shape, &fusion::cost(&device, shape)?);
    }
    let overheads = overhead::measure(&device)?;
    overheads.iter().for_each(report::overhead);
    report::save(bench.info(), &rows, &overheads)
}

/// Criterion's own history of the fused kernel, timed by the GPU's events.
fn follow(criterion: &mut Criterion) -> Outcome<()> {
    let device = Device::new(0)?;
    let mut operands = Operands::<bf16>::new(&device, shapes::SQUARE, matmul::Layout::Nn, Buffers::Rotating)?;
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
