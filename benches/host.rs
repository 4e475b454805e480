//! What runs on the host: `cargo bench --bench host`. Needs no GPU and no nvcc; with a GPU it also times the host's part
//! of launches, with one weight and with 64 in rotation.
//!
//! The CPU backend, the emission of CUDA, the lookup in best_config.json, and the part of a launch that comes before
//! the driver: choosing the schedule and checking the operands. `AUTOKERNEL_RECORD=shapes.jsonl cargo bench --bench
//! host -- launch` measures the launch with the log of launches on, under a name of its own.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use autokernel::{Datasheet, Device, Extents, Matrix, Planner, Target, bf16, builtin, matmul, plan_for};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Config;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::Operation;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::problem;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng, rngs::StdRng};

const CONFIG: &str = include_str!("../best_config.json");

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
    let problem = Problem::new(Dtype::Bf16, Layout::Nt, epilogue);
    let schedule = problem::ProblemClass::from(problem.class()).default_schedule(Arch::SM_90A);
    criterion.bench_function("emit a kernel", |bencher| bencher.iter(|| black_box(&problem).emit(&schedule)));
}

fn config(criterion: &mut Criterion) {
    let path = Path::new("best_config.json");
    criterion.bench_function("parse best_config.json", |bencher| {
        bencher.iter(|| Config::parse(black_box(CONFIG), path));
    });
    let config = Config::parse(CONFIG, path).expect("the checked-in file is valid");
    let problem = problem::Problem::matmul(Dtype::Bf16, Layout::Nn, "leaky_relu".parse().expect("it is built in"));
    criterion.bench_function("look up a problem", |bencher| {
        bencher.iter(|| config.entries_for(black_box(&problem), Arch::SM_90A).len());
    });
}

/// The host's part of launches on a GPU, where there is one: fewer than the driver queues, then waited for untimed.
fn gpu_launches(criterion: &mut Criterion, weights: usize) {
    const SIZE: usize = 64;
    const QUEUED: u64 = 400;
    let Ok(device) = Device::new(0) else { return };
    let matrix = || Matrix::<bf16>::zeros(&device, SIZE, SIZE).expect("it is small");
    let (x, mut out) = (matrix(), matrix());
    let matrices: Vec<Matrix<bf16>> = (0..weights).map(|_| matrix()).collect();
    criterion.bench_function(&format!("launch 64x64x64 on the gpu, {weights} weights in rotation"), |bencher| {
        bencher.iter_custom(|launches| {
            let mut host = Duration::ZERO;
            for first in (0..launches).step_by(QUEUED as usize) {
                let start = Instant::now();
                for number in first..launches.min(first + QUEUED) {
                    let weight = &matrices[number as usize % weights];
                    builtin::matmul_leaky_relu(&x, weight, &mut out).expect("the operands fit");
                }
                host += start.elapsed();
                device.synchronize().expect("the launches ran");
            }
            host
        });
    });
}

/// What a launch does to choose, of a kernel that knows its candidates: for shapes that it never saw, and for one that it did.
fn choices(criterion: &mut Criterion, planner: &Planner) {
    let mut random = StdRng::seed_from_u64(1);
    let mut drawn = || {
        let m = 8192.0_f64.powf(random.random_range(0.0..1.0)) as u32;
        let [n, k] = std::array::from_fn(|_| 8 * random.random_range(96..2048));
        matmul::extents(m, n, k)
    };
    let seen = matmul::extents(4097, 4104, 4112);
    criterion.bench_function("choose a schedule for a shape that was seen", |bencher| {
        bencher.iter(|| planner.plan(black_box(&seen)).is_ok());
    });
    // As many as are seen twice only by chance.
    let unseen: Vec<Extents> = (0..1 << 17).map(|_| drawn()).collect();
    let mut next = unseen.iter().cycle();
    criterion.bench_function("choose a schedule for a shape never seen", |bencher| {
        bencher.iter(|| planner.plan(black_box(next.next().expect("there are some"))).is_ok());
    });
}

fn launch(criterion: &mut Criterion) {
    let descriptor = builtin::matmul_leaky_relu::KERNEL.descriptor().expect("the build wrote it");
    let shape = matmul::extents(4096, 4096, 4096);
    let h200 = Target::of_sheet(Datasheet::find("h200").expect("it has a row"));
    match Planner::new(descriptor, h200.clone()) {
        Ok(planner) => choices(criterion, &planner),
        Err(error) => eprintln!("no choices without images: {error}"),
    }
    criterion.bench_function("plan for a shape, candidates and all", |bencher| {
        bencher.iter(|| plan_for(descriptor, h200.clone(), black_box(&shape)).is_ok());
    });
    for weights in [1, 64] {
        gpu_launches(criterion, weights);
    }
    let (a, b) = (random(1, 1), random(1, 1));
    let mut out = Matrix::zeros(&Device::cpu(), 1, 1).expect("it is small");
    let recorded = if std::env::var_os("AUTOKERNEL_RECORD").is_some() { ", recorded" } else { "" };
    criterion.bench_function(&format!("check and launch 1x1x1 on the cpu{recorded}"), |bencher| {
        bencher.iter(|| builtin::matmul_leaky_relu(&a, &b, &mut out));
    });
}

criterion_group!(benches, cpu_backend, emission, config, launch);
criterion_main!(benches);
