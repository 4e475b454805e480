//! What runs on the host: `cargo bench --bench host`. Needs no GPU and no nvcc.
//!
//! The CPU backend, the emission of CUDA, the lookup in best_config.json, and the part of a launch that comes before
//! the driver: choosing the schedule and checking the operands. `AUTOKERNEL_RECORD=shapes.jsonl cargo bench --bench
//! host -- launch` measures the launch with the log of launches on, under a name of its own.

use std::hint::black_box;
use std::path::Path;

use autokernel::{ComputeCapability, Device, Matrix, Shape, Target, bf16, builtin, plan_for};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Config;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::emit;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::Schedule;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng, rngs::StdRng};

const CONFIG: &str = include_str!("../best_config.json");
const H200: Target = Target { capability: ComputeCapability::new(9, 0), shared_bytes: 232_448 };

fn random(rows: usize, columns: usize) -> Matrix<bf16> {
    let mut random = StdRng::seed_from_u64(1);
    let data: Vec<bf16> = (0..rows * columns).map(|_| bf16::from_f32(random.random_range(-1.0..1.0))).collect();
    Matrix::from_slice(&Device::cpu(), &data, rows, columns).expect("the sizes fit")
}

fn cpu_backend(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cpu backend, bf16 matmul_leaky_relu");
    for size in [64, 256, 512] {
        let (a, b) = (random(size, size), random(size, size));
        let mut out = Matrix::zeros(&Device::cpu(), size, size).expect("it is small");
        group.throughput(Throughput::Elements(2 * (size as u64).pow(3)));
        group.bench_function(format!("{size}x{size}x{size}"), |bencher| {
            bencher.iter(|| builtin::matmul_leaky_relu(&a, &b, &mut out));
        });
    }
    group.finish();
}

fn emission(criterion: &mut Criterion) {
    let epilogue = "gelu".parse().expect("gelu is built in");
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, epilogue);
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    criterion.bench_function("emit a kernel", |bencher| bencher.iter(|| emit(black_box(&problem), &schedule)));
}

fn config(criterion: &mut Criterion) {
    let path = Path::new("best_config.json");
    criterion.bench_function("parse best_config.json", |bencher| {
        bencher.iter(|| Config::parse(black_box(CONFIG), path));
    });
    let config = Config::parse(CONFIG, path).expect("the checked-in file is valid");
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nn, "leaky_relu".parse().expect("it is built in"));
    criterion.bench_function("look up a problem", |bencher| {
        bencher.iter(|| config.entries_for(black_box(&problem), Arch::SM_90A).len());
    });
}

fn launch(criterion: &mut Criterion) {
    let descriptor = builtin::matmul_leaky_relu::KERNEL.descriptor();
    let shape = Shape::new(4096, 4096, 4096);
    criterion.bench_function("choose a schedule for a shape", |bencher| {
        bencher.iter(|| plan_for(descriptor, H200, black_box(shape)).is_ok());
    });
    let (a, b) = (random(1, 1), random(1, 1));
    let mut out = Matrix::zeros(&Device::cpu(), 1, 1).expect("it is small");
    let recorded = if std::env::var_os("AUTOKERNEL_RECORD").is_some() { ", recorded" } else { "" };
    criterion.bench_function(&format!("check and launch 1x1x1 on the cpu{recorded}"), |bencher| {
        bencher.iter(|| builtin::matmul_leaky_relu(&a, &b, &mut out));
    });
}

criterion_group!(benches, cpu_backend, emission, config, launch);
criterion_main!(benches);
