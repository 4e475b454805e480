//! How near the schedules that the model chooses for row-wise kernels come to the fastest that is found, at shapes that are drawn: what a
//! declared kernel carries and chooses, beside a sample of all schedules that the rules allow, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_rows_choice_speed -- --ignored --nocapture`.
//! `AUTOKERNEL_SEED` draws other shapes and another sample, `AUTOKERNEL_CASES` as many shapes, and `AUTOKERNEL_TIMES` names a file for every
//! time, a line each. Operands are random, and sets of them rotate past the L2 cache. Images are compiled when the test runs.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;

use autokernel::timing::{Cache, Timer};
use autokernel::{Arch, Argument, CompiledKernel, Matrix, Row, bf16};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::rows::plan::extents;
use autokernel_codegen::rows::{AnySchedule, Sm80Schedule};
use autokernel_codegen::schedule::Family;
use batch_tests::carried::machine;
use batch_tests::compiler::compiler;
use batch_tests::images::{self, Compiled};
use batch_tests::row_wise;
use gpu_tests::ranking::in_turn;
use gpu_tests::rows::BODIES;
use gpu_tests::timed::Drawn;
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Bodies whose speed is claimed.
const MEASURED: [&str; 4] = ["softmax", "rms_norm", "layer_norm", "silu_mul"];
const SAMPLE: usize = 40;
const SHAPES: u64 = 12;
const LAUNCHES: usize = 8;
const ROUNDS: usize = 6;
/// Of the fastest at a first look: what is slower and not carried is not looked at again.
const NEAR: f64 = 1.2;
/// Bytes of the sets together: past the L2 cache.
const ROTATED: usize = 192 << 20;

/// Rows and columns, from 1 to 128 MB a matrix, of widths that models have and others.
fn shapes(rng: &mut StdRng) -> Vec<(u32, u32)> {
    let mut extent = |least: f64, most: f64| rng.random_range(least.ln()..most.ln()).exp();
    let mut shapes = Vec::new();
    while (shapes.len() as u64) < settings::number("AUTOKERNEL_CASES", SHAPES) {
        let (rows, columns) = (extent(16.0, 65_536.0) as u32, extent(128.0, 65_536.0) as u32);
        let columns = if shapes.len() % 3 == 2 { columns } else { columns.next_multiple_of(8) };
        if (1 << 20..1 << 27).contains(&(2 * u64::from(rows) * u64::from(columns))) {
            shapes.push((rows, columns));
        }
    }
    shapes
}

/// What a kernel carries, and a sample of the rest: vectors of 16 bytes, which lead everywhere, where there are such.
fn schedules(problem: &Problem, rng: &mut StdRng) -> Vec<AnySchedule> {
    let class = problem.class();
    let mut all = class.schedules(Family::RowsSm80, Arch::SM_90A);
    all.retain(|schedule| {
        Sm80Schedule::try_from(schedule).is_ok_and(|it| it.vector == 8 && it.cluster > 0 && it.threads() >= 64)
    });
    all.shuffle(rng);
    let mut chosen = class.portfolio(Arch::SM_90A);
    for schedule in all {
        if chosen.len() < SAMPLE && !chosen.contains(&schedule) {
            chosen.push(schedule);
        }
    }
    chosen
}

/// A set of operands: up to two matrices that are read, what each `Row` is, and what is written.
struct Set {
    inputs: Vec<Matrix<bf16>>,
    weight: Row<bf16>,
    out: Matrix<bf16>,
}

impl Set {
    fn arguments(&mut self, rows: usize) -> Vec<Argument<'_>> {
        let Set { inputs, weight, out } = self;
        let mut arguments: Vec<Argument<'_>> = inputs.iter().map(Argument::from).collect();
        arguments.extend((0..rows).map(|_| Argument::from(weight.view())));
        arguments.push(out.into());
        arguments
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn the_models_choice_of_a_row_wise_kernel_is_near_the_fastest_that_is_found() {
    const TEST: &str =
        "gpu_rows_choice_speed::the_models_choice_of_a_row_wise_kernel_is_near_the_fastest_that_is_found";
    let compiler = compiler(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 13));
    let bodies = BODIES.iter().filter(|body| MEASURED.contains(&body.name));
    let measured: Vec<(&str, Problem, Vec<Compiled<AnySchedule>>)> = bodies
        .map(|body| {
            let problem = Problem::from(row_wise::problem(body, "bf16"));
            let schedules = schedules(&problem, &mut rng);
            let compiled = row_wise::compile(&compiler, &problem, schedules);
            (body.name, problem, compiled)
        })
        .collect();
    let Some(device) = skip::gpu_of_one_stream(TEST) else { return };
    println!("{device}; bf16, {SAMPLE} schedules each, of which a kernel carries the first; µs and % over the fastest");
    let machine = machine(&device);
    let numbers = Drawn::uniform(5);
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let mut lost = Vec::new();
    let mut times = std::env::var_os("AUTOKERNEL_TIMES").map(|path| File::create(path).unwrap());
    for (rows, columns) in shapes(&mut rng) {
        for (name, problem, compiled) in &measured {
            let carried = problem.class().portfolio(Arch::SM_90A);
            let shape = extents(rows, columns);
            let predicted = |schedule: &AnySchedule| row_wise::predicted_ms(problem, schedule, &shape, machine);
            let chosen = &row_wise::chosen(problem, carried.iter().copied(), &shape, machine);
            let signature = problem.signature();
            let kernels: Vec<_> =
                compiled.iter().map(|image| (image.0, images::load(&device, &signature, image))).collect();
            let operands = signature.operands;
            let matrices = operands.iter().filter(|it| it.axes.len() == 2).count();
            let count = ROTATED.div_ceil(2 * matrices * rows as usize * columns as usize).clamp(2, 96);
            let [height, width] = [rows as usize, columns as usize];
            let set = |number: usize| Set {
                inputs: (1..matrices).map(|at| numbers.matrix(&device, [height, width], number * 77 + at)).collect(),
                weight: Row::from_slice(&device, &numbers.numbers()[..width]).unwrap(),
                out: Matrix::zeros(&device, height, width).unwrap(),
            };
            let sets = RefCell::new((0..count).map(set).collect::<Vec<_>>());
            let weights = operands.iter().filter(|operand| operand.axes.len() == 1).count();
            let launch = |(_, kernel): &(AnySchedule, CompiledKernel), at: usize| {
                let set = &mut sets.borrow_mut()[at % count];
                kernel.launch(&device, &mut set.arguments(weights))
            };
            let looked = in_turn(&mut timer, (1, LAUNCHES), &kernels.iter().collect::<Vec<_>>(), &launch).unwrap();
            let near = |ms: f64, schedule| ms <= looked[0].0 * NEAR || carried.contains(schedule);
            let near: Vec<_> = looked.iter().filter(|(ms, it)| near(*ms, &it.0)).map(|(_, it)| *it).collect();
            let ranked = in_turn(&mut timer, (ROUNDS, LAUNCHES), &near, &launch).unwrap();
            for (ms, (schedule, _)) in
                looked.iter().filter(|(_, it)| !near.iter().any(|near| near.0 == it.0)).chain(&ranked)
            {
                if let Some(file) = &mut times {
                    let predicted = predicted(schedule) * 1e3;
                    let kind = if carried.contains(schedule) { "carried" } else { "sampled" };
                    writeln!(file, "{name};{rows};{columns};{:.3};{predicted:.3};{kind};{schedule}", ms * 1e3).unwrap();
                }
            }
            let (best_ms, (best, _)) = ranked[0];
            let of_chosen = ranked.iter().find(|(_, (schedule, _))| schedule == chosen).unwrap().0;
            let of_carried = ranked.iter().find(|(_, (it, _))| carried.contains(it)).unwrap().0;
            let [over, carried_over] = [of_chosen, of_carried].map(|ms| 100.0 * (ms / best_ms - 1.0));
            let rate = (2 * matrices * height * width) as f64 / (of_chosen * 1e6);
            println!(
                "{name:>9} {rows:>5} x {columns:>5}: chosen {:>8.2} ({over:>5.1} %, {rate:.0} GB/s), best carried {carried_over:>5.1} %; {chosen}, \
                 fastest {best}",
                of_chosen * 1e3
            );
            lost.push((over, carried_over));
        }
    }
    let of = |take: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = lost.iter().map(take).collect();
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        format!(
            "mean {mean:.1} %, median {:.1}, 90th percentile {:.1}, worst {:.1}",
            all[all.len() / 2],
            all[all.len() * 9 / 10],
            all[all.len() - 1]
        )
    };
    println!("chosen over the fastest: {}", of(|it| it.0));
    println!("best carried over the fastest: {}", of(|it| it.1));
}
