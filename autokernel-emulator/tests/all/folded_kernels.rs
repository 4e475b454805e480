//! What one number of each row of a product comes to: the largest magnitude of a result of 8-bit floats, and sums, means and least numbers
//! beside it. Blocks leave totals, and the one that comes last folds them. Sums of small integers, exact in any order.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::arguments;
use crate::support::case::{SM80, SM90};
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, Shape, allocate, download, product, shape};
use crate::support::reducing::{CREWS, OF_TWO_PRODUCTS, SHARED_BY_CLUSTERS, SHARED_BY_WARPS, SPLIT_AND_SWAPPED};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{Bf16, E4m3, F16, F32};
use autokernel_codegen::matmul::body::oracle;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_codegen::rows::oracle::Ball;
use autokernel_core::LaunchPlan;
use autokernel_emulator::{Gpu, Module, Options};
use float8::F8E4M3;

/// 8 bits by a scale that is given, what the next launch scales by, and folds of every kind beside numbers of rows.
const ONE: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, amax: &mut Scalar<f32>, out: &mut Matrix<OUT>, \
                   sums: &mut Column<f32>, least: &mut Scalar<f16>, total: &mut Scalar<f32>, mean: &mut Scalar<f32>) {
    let y = dot(x, w.t());
    out = y * 0.25;
    amax = column_max(row_max(y.abs()));
    let sum = row_sum(y);
    sums = sum;
    least = column_min(row_min(y) - row_index());
    total = column_sum(sum * scale);
    mean = column_mean(sum);
}";

/// Gives what `ONE` does, by two products.
const TWO: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, up: &Matrix<bf16>, scale: &Column<f32>, amax: &mut Scalar<f32>, \
                   out: &mut Matrix<OUT>, sums: &mut Column<f32>, least: &mut Scalar<f16>, total: &mut Scalar<f32>, \
                   mean: &mut Scalar<f32>) {
    let y = dot(x, w.t()) - 2.0 * dot(x, up.t());
    out = y * 0.25;
    amax = column_max(row_max(y.abs()));
    let sum = row_sum(y);
    sums = sum;
    least = column_min(row_min(y) - row_index());
    total = column_sum(sum * scale);
    mean = column_mean(sum);
}";

/// More blocks than lanes; several tiles with ragged edges; less than a block of rows; one row; and no K.
const SHAPES: [(u32, u32, u32); 5] = [(1100, 24, 16), (130, 200, 72), (20, 67, 200), (1, 300, 64), (9, 24, 0)];

struct Case<'c> {
    problem: Problem,
    plan: &'c LaunchPlan,
    module: &'c Module,
    arch: Arch,
    /// Outputs are not rounded.
    is_reference: bool,
}

impl Case<'_> {
    /// Runs it twice in the same workspace; what is wrong with a result is returned, and a fault panics.
    fn run(&self, of: Shape, seed: u64) -> Result<(), String> {
        let Case { problem, plan, module, arch, is_reference } = self;
        let Shape { m, n, k } = of;
        let mut gpu = Gpu::new(match *arch {
            Arch::SM_80 => autokernel_emulator::Arch::Sm80,
            _ => autokernel_emulator::Arch::Sm90a,
        });
        let ld = k.next_multiple_of(8);
        let [x, w, up] = [(m, 1), (n, 2), (n, 3)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
        let scale = Matrix::integers(1, m, m, 4 + seed);
        let has_two = problem.class().products() == 2;
        let mut operands = vec![x.upload(&mut gpu, "x", Bf16), w.upload(&mut gpu, "w", Bf16)];
        if has_two {
            operands.push(up.upload(&mut gpu, "up", Bf16));
        }
        operands.push(scale.upload(&mut gpu, "scale", F32));
        let [of_out, of_least] = [problem.output, F16].map(|dtype| if *is_reference { F32 } else { dtype });
        let amax = allocate(&mut gpu, "amax", F32, 1, 1, 1, 0);
        let out = allocate(&mut gpu, "out", of_out, m, n, n.next_multiple_of(16), 0);
        let sums = allocate(&mut gpu, "sums", F32, 1, m, m, 0);
        let least = allocate(&mut gpu, "least", of_least, 1, 1, 1, 0);
        let [total, mean] = ["total", "mean"].map(|name| allocate(&mut gpu, name, F32, 1, 1, 1, 0));
        operands.extend([amax, out, sums, least, total, mean]);

        let (launches, _workspace) = arguments::steps(
            &mut gpu,
            arguments::MULTIPROCESSORS,
            &signature(problem),
            plan,
            extents(m, n, k),
            &operands,
        );
        let options = Options { seed, instruction_budget: 1 << 27, ..Options::default() };
        let of_one = product(&x, &w, Layout::Nt, of);
        let of_two = of_one.iter().zip(product(&x, &up, Layout::Nt, of)).map(|(one, two)| one - 2.0 * two);
        let elements: Vec<f64> = if has_two { of_two.collect() } else { of_one };
        let rows = || elements.chunks(n as usize);
        let row_sums: Vec<f64> = rows().map(|row| row.iter().sum()).collect();
        let rounded = |value: f64| if of_out == E4m3 { F8E4M3::from_f32(value as f32).to_f64() } else { value };
        let of_rows = |row: (usize, &[f64])| row.1.iter().copied().fold(f64::INFINITY, f64::min) - row.0 as f64;
        let expected = [
            (amax, F32, vec![elements.iter().map(|y| y.abs()).fold(0.0, f64::max)]),
            (out, of_out, elements.iter().map(|y| rounded(y * 0.25)).collect()),
            (sums, F32, row_sums.clone()),
            (least, of_least, vec![rows().enumerate().map(of_rows).fold(f64::INFINITY, f64::min)]),
            (total, F32, vec![row_sums.iter().zip(&scale.values).map(|(sum, scale)| sum * scale).sum()]),
            (mean, F32, vec![f64::from((row_sums.iter().sum::<f64>() / f64::from(m)) as f32)]),
        ];
        for run in 0..2 {
            for (operand, dtype, values) in expected.iter().filter(|(_, _, values)| values.len() == 1) {
                let other = vec![0x55; values.len() * dtype.bytes() as usize];
                gpu.write(operand.pointer, &other).expect("an operand is there");
            }
            for (step, launch) in plan.kernels.iter().zip(&launches) {
                let ran = gpu.launch(module, &step.symbol, launch, &options);
                ran.unwrap_or_else(|error| panic!("{}, {m}x{n}x{k}, seed {seed}: {error}", step.symbol));
            }
            for (number, (operand, dtype, values)) in expected.iter().enumerate() {
                let found = download(&mut gpu, *operand, *dtype);
                // Means are quotients in f32, of which units in the last place are not told.
                let within = if number == 5 { 1e-6 } else { 0.0 };
                let is_right =
                    |(found, value): (&f64, &f64)| (found - value).abs() <= within * value.abs() || found == value;
                if found.len() != values.len() || !found.iter().zip(values).all(is_right) {
                    return Err(format!("output {number} of run {run} at {m}x{n}x{k}: {found:?}, not {values:?}"));
                }
            }
        }
        Ok(())
    }
}

fn problem(source: &str, out: &str) -> Problem {
    autokernel_codegen::product::problem(&syn::parse_str(&source.replace("OUT", out)).unwrap()).unwrap()
}

fn check(test: &str, (source, out): (&str, &str), schedules: &[Schedule], arch: Arch) {
    let Some(compiler) = Compiler::find(test) else { return };
    for schedule in schedules {
        let problem = problem(source, out);
        schedule.check(&problem.class(), arch).unwrap();
        let (kernel, plan) = emit::kernel(&problem, schedule);
        let module = Module::parse(&compiler.ptx(&kernel, arch, None).unwrap()).unwrap();
        let case = Case { problem, plan: &plan, module: &module, arch, is_reference: false };
        for (seed, (m, n, k)) in (0..).zip(SHAPES) {
            case.run(shape(m, n, k), seed).unwrap_or_else(|wrong| panic!("{}: {wrong}", kernel.symbol));
        }
    }
}

#[test]
fn what_rows_of_cooperating_and_alternating_consumers_come_to_is_folded() {
    let test = "what_rows_of_cooperating_and_alternating_consumers_come_to_is_folded";
    check(test, (ONE, "e4m3"), &CREWS.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn what_rows_of_split_and_swapped_tiles_come_to_is_folded() {
    let test = "what_rows_of_split_and_swapped_tiles_come_to_is_folded";
    check(test, (ONE, "f32"), &SPLIT_AND_SWAPPED.map(Schedule::Sm90), Arch::SM_90A);
    check(test, (ONE, "f32"), &[Schedule::Sm90(SHARED_BY_CLUSTERS[0])], Arch::SM_90A);
}

#[test]
fn what_rows_of_two_products_and_of_shared_tiles_come_to_is_folded() {
    let test = "what_rows_of_two_products_and_of_shared_tiles_come_to_is_folded";
    check(test, (TWO, "e4m3"), &[Schedule::Sm90(OF_TWO_PRODUCTS[0])], Arch::SM_90A);
    check(test, (TWO, "e4m3"), &[Schedule::Sm80(SM80)], Arch::SM_80);
    check(test, (ONE, "e4m3"), &[Schedule::Sm80(SHARED_BY_WARPS[1])], Arch::SM_80);
}

/// The mean loss of a language model's head: no logits, and no number of a row, leaves the kernels.
const LOSS: &str = "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, target: &Column<f32>, loss: &mut Scalar<f32>) {
    let y = 0.125 * dot(x, w.t());
    let most = row_max(y);
    let chosen = row_sum(if column_index() == target { y } else { 0.0 });
    loss = column_mean(most + row_sum((y - most).exp()).ln() - chosen);
}";

#[test]
fn a_mean_of_rows_is_all_that_is_written() {
    let Some(compiler) = Compiler::find("a_mean_of_rows_is_all_that_is_written") else { return };
    let problem = problem(LOSS, "f32");
    let body = problem.body.as_deref().unwrap();
    let schedules = [(Schedule::Sm90(CREWS[2]), Arch::SM_90A), (Schedule::Sm80(SM80), Arch::SM_80)];
    for (schedule, arch) in schedules {
        schedule.check(&problem.class(), arch).unwrap();
        let (kernel, plan) = emit::kernel(&problem, &schedule);
        let module = Module::parse(&compiler.ptx(&kernel, arch, None).unwrap()).unwrap();
        for (seed, (m, n, k)) in (0..).zip([(130u32, 200u32, 72u32), (33, 67, 40), (3, 24, 0)]) {
            let mut gpu = Gpu::new(match arch {
                Arch::SM_80 => autokernel_emulator::Arch::Sm80,
                _ => autokernel_emulator::Arch::Sm90a,
            });
            let ld = k.next_multiple_of(8);
            let [x, w] = [(m, 1), (n, 2)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
            let mut target = Matrix::integers(1, m, m, 4 + seed);
            target.values.iter_mut().for_each(|target| *target = target.abs());
            let mut operands = vec![x.upload(&mut gpu, "x", Bf16), w.upload(&mut gpu, "w", Bf16)];
            let loss = allocate(&mut gpu, "loss", F32, 1, 1, 1, 0);
            operands.extend([target.upload(&mut gpu, "target", F32), loss]);
            let (launches, _workspace) = arguments::steps(
                &mut gpu,
                arguments::MULTIPROCESSORS,
                &signature(&problem),
                &plan,
                extents(m, n, k),
                &operands,
            );
            let options = Options { seed, instruction_budget: 1 << 26, ..Options::default() };
            for (step, launch) in plan.kernels.iter().zip(&launches) {
                let ran = gpu.launch(&module, &step.symbol, launch, &options);
                ran.unwrap_or_else(|error| panic!("{}, {m}x{n}x{k}: {error}", step.symbol));
            }
            let sums = product(&x, &w, Layout::Nt, shape(m, n, k));
            let rows = sums.chunks(n as usize);
            let rows: Vec<Vec<Vec<Ball>>> =
                rows.map(|row| row.iter().map(|sum| vec![Ball::exact(*sum)]).collect()).collect();
            let expected = oracle::of_rows(body, &rows, &|_, row, _| target.values[row])[0];
            let found = download(&mut gpu, loss, F32)[0];
            assert!(expected.error < 1e-3, "{expected:?} tells nothing");
            let is_right = (found - expected.value).abs() <= expected.error + expected.value.abs() * 1e-7;
            assert!(is_right, "{schedule:?}, {m}x{n}x{k}: {found}, not {expected:?}");
        }
    }
}

#[test]
fn the_reference_folds_what_rows_come_to() {
    let Some(compiler) = Compiler::find("the_reference_folds_what_rows_come_to") else { return };
    for source in [ONE, TWO] {
        let problem = problem(source, "e4m3");
        let (kernel, plan) = emit::reference(&problem);
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_80, None).unwrap()).unwrap();
        let case = Case { problem, plan: &plan, module: &module, arch: Arch::SM_80, is_reference: true };
        for (m, n, k) in [(70, 50, 21), (5, 300, 7), (3, 4, 0)] {
            case.run(shape(m, n, k), 0).unwrap();
        }
    }
}

#[test]
fn totals_that_are_not_ordered_and_counters_that_are_not_left_zero_are_found() {
    let test = "totals_that_are_not_ordered_and_counters_that_are_not_left_zero_are_found";
    let Some(compiler) = Compiler::find(test) else { return };
    let mutants = [
        ("ptx::fetch_add_ordered(folded_shares, 1)", "ptx::fetch_add_relaxed(folded_shares, 1)"),
        ("if (is_last) *folded_shares = 0;", ""),
        ("static_cast<uint32_t>(shares - 1)", "static_cast<uint32_t>(shares - 2)"),
        ("total += kWarpSize", "total += kWarpSize + 1"),
    ];
    let problem = problem(ONE, "f32");
    let schedule = Schedule::Sm90(Sm90Schedule { tile_m: 16, swap_ab: true, ..SM90 });
    let (kernel, plan) = emit::kernel(&problem, &schedule);
    for (before, after) in mutants {
        let change = Change { file: "body_folded.cuh", before, after };
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_90A, Some(change)).unwrap()).unwrap();
        let case =
            Case { problem: problem.clone(), plan: &plan, module: &module, arch: Arch::SM_90A, is_reference: false };
        let is_right = SHAPES[..2].iter().all(|&(m, n, k)| {
            let run = AssertUnwindSafe(|| case.run(shape(m, n, k), 0));
            matches!(catch_unwind(run), Ok(Ok(())))
        });
        assert!(!is_right, "nothing was wrong with `{after}` in the place of `{before}`");
    }
}
