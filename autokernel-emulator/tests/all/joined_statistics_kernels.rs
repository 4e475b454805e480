//! Sums of exponentials relative to a row's maximum, of a product whose elements are written, or are not: parts are pairs of numbers that
//! are brought together. Against fp64 with the error that fp32 may make, NaN and infinities among the elements.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::arguments;
use crate::support::case::{SM80, SM90};
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, Shape, allocate, download, product, shape};
use crate::support::reducing::{CREWS, OF_TWO_PRODUCTS, SHARED_BY_WARPS, SPLIT_AND_SWAPPED};
use crate::support::sample::sample_mutants;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{Bf16, F32};
use autokernel_codegen::matmul::body::oracle;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_codegen::rows::oracle::Ball;
use autokernel_core::LaunchPlan;
use autokernel_emulator::{Gpu, Module, Options};

/// The head of a language model: cross entropy without logits in memory.
const LOSS: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<f32>, target: &Column<f32>, most: &mut Column<f32>, \
                    loss: &mut Column<f32>) {
    let y = 0.125 * dot(x, w.t()) + skip;
    let greatest = row_max(y);
    let chosen = row_sum(if column_index() == target { y } else { 0.0 });
    most = greatest;
    loss = greatest + row_sum((y - greatest).exp()).ln() - chosen;
}";

/// Elements beside it, two products, and two sums relative to two maxima, one of them a mean.
const TWO: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<f32>, target: &Column<f32>, out: &mut Matrix<f32>, \
                   up: &Matrix<bf16>, most: &mut Column<f32>, loss: &mut Column<f32>) {
    let y = 0.125 * dot(x, w.t()) + skip;
    let z = dot(x, up.t()) * 0.25 - target;
    out = y + z;
    let e = (z - row_max(z)).exp();
    most = row_mean(e) + row_min(z);
    loss = row_sum((y - row_max(y)).exp());
}";

/// Without elements, what is reduced one by one.
const SUMS: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<f32>, target: &Column<f32>, most: &mut Column<f32>, \
                    loss: &mut Column<f32>) {
    let y = dot(x, w.t()) + skip;
    most = row_max(y);
    loss = row_sum(y) * target;
}";

/// Several tiles with ragged edges; less than a tile; one row; more parts than a lane requests at once; and no K.
const SHAPES: [(u32, u32, u32); 5] = [(130, 200, 72), (70, 67, 200), (1, 300, 64), (3, 2200, 8), (20, 150, 0)];

const INF: f64 = f64::INFINITY;
/// A number that stands in so many elements of a row.
const ROWS: [(f64, u32); 13] = [
    (-INF, 190),
    (-INF, 4000),
    (INF, 4000),
    (f64::NAN, 4000),
    (-INF, 2),
    (INF, 1),
    (f64::NAN, 1),
    (-INF, 60),
    (1e30, 40),
    (-1e30, 63),
    (60.0, 1),
    (-300.0, 50),
    (0.0, 0),
];

fn problem(source: &str) -> Problem {
    autokernel_codegen::product::problem(&syn::parse_str(source).unwrap()).unwrap()
}

/// What is added to the elements: small numbers, and in some rows such as make a maximum infinite, or none.
fn skip(m: u32, n: u32, seed: u64) -> Matrix {
    let mut skip = Matrix::integers(m, n, n, 5 + seed);
    for row in 0..m {
        let (value, count) = ROWS[(row as usize + seed as usize) % ROWS.len()];
        for i in 0..count.min(n) {
            // Many side by side, so that parts of a row have nothing else; few apart from each other.
            let column = if count >= 100 { (i + row) % n } else { (i * 37 + row) % n };
            skip.values[(row * n + column) as usize] = value;
        }
    }
    skip
}

fn assert_near(found: &[f64], expected: &[Ball], what: &str) -> usize {
    let told = expected.iter().filter(|ball| !ball.is_anything()).count();
    for (row, (found, ball)) in found.iter().zip(expected).enumerate() {
        let is_right = match ball.value {
            _ if ball.is_anything() => true,
            value if value.is_nan() => found.is_nan(),
            value if value.is_infinite() => *found == value,
            value => (found - value).abs() <= ball.error,
        };
        assert!(is_right, "row {row} of {what}: {found}, not {ball:?}");
    }
    told
}

/// Runs a kernel of `source`, in two orders of events in the same workspace, which give the same bits; gives of how many numbers
/// something was told.
fn run(source: &str, (plan, module): (&LaunchPlan, &Module), arch: Arch, of: Shape, seed: u64) -> usize {
    let (problem, Shape { m, n, k }) = (problem(source), of);
    let body = problem.body.as_deref().unwrap();
    let mut gpu = Gpu::new(match arch {
        Arch::SM_80 => autokernel_emulator::Arch::Sm80,
        _ => autokernel_emulator::Arch::Sm90a,
    });
    let ld = k.next_multiple_of(8);
    let [x, w, up] = [(m, 1), (n, 2), (n, 3)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
    let (skip, mut target) = (skip(m, n, seed), Matrix::integers(1, m, m, 4 + seed));
    target.values.iter_mut().for_each(|target| *target = target.abs());
    let [most, loss] = ["most", "loss"].map(|name| allocate(&mut gpu, name, F32, 1, m, m, 0));
    let out = (source == TWO).then(|| allocate(&mut gpu, "out", F32, m, n, n, 0));
    let mut operands = vec![x.upload(&mut gpu, "x", Bf16), w.upload(&mut gpu, "w", Bf16)];
    operands.extend([skip.upload(&mut gpu, "skip", F32), target.upload(&mut gpu, "target", F32)]);
    operands.extend(out);
    operands.extend(out.map(|_| up.upload(&mut gpu, "up", Bf16)));
    operands.extend([most, loss]);

    let (launches, _workspace) =
        arguments::steps(&mut gpu, arguments::MULTIPROCESSORS, &signature(&problem), plan, extents(m, n, k), &operands);
    let what = format!("{m}x{n}x{k}, seed {seed}");
    let outputs = [Some(most), Some(loss), out];
    let mut of_orders = Vec::new();
    for order in 0..2 {
        let options = Options { seed: 2 * seed + order, instruction_budget: 1 << 26, ..Options::default() };
        for (step, launch) in plan.kernels.iter().zip(&launches) {
            gpu.launch(module, &step.symbol, launch, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        let written = outputs.iter().flatten().map(|output| download(&mut gpu, *output, F32)).collect::<Vec<_>>();
        of_orders.push(written);
    }
    let bits = |of: &[Vec<f64>]| of.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&of_orders[0]), bits(&of_orders[1]), "{what}");
    let written = of_orders.swap_remove(0);
    let [of_w, of_up] = [&w, &up].map(|factor| product(&x, factor, Layout::Nt, of));
    let sums = |row: u32| {
        let elements = (row * n) as usize..((row + 1) * n) as usize;
        let of = |sums: &f64| Ball::exact(*sums);
        elements
            .map(|at| [&of_w, &of_up].iter().take(1 + usize::from(out.is_some())).map(|it| of(&it[at])).collect())
            .collect()
    };
    let input = |row: u32, at: usize, column: usize| match at {
        2 => skip.at(row, column as u32),
        _ => target.values[row as usize],
    };
    let (mut expected, mut elements) = ([Vec::new(), Vec::new()], Vec::new());
    for row in 0..m {
        let sums: Vec<Vec<Ball>> = sums(row);
        let of_row = oracle::of_row(body, (row as usize, m as usize), &sums, &|at, column| input(row, at, column));
        expected.iter_mut().zip(of_row).for_each(|(column, ball)| column.push(ball));
        if out.is_some() {
            let of_row =
                oracle::elements(body, (row as usize, m as usize), &sums, &|at, column| input(row, at, column));
            elements.extend(of_row.into_iter().map(|mut element| element.remove(0)));
        }
    }
    let mut told = 0;
    for ((found, expected), name) in written.iter().zip(&expected).zip(["most", "loss"]) {
        told += assert_near(found, expected, &format!("{name} of {what}"));
    }
    if out.is_some() {
        assert_near(&written[2], &elements, &format!("elements of {what}"));
    }
    told
}

fn check(test: &str, source: &str, schedules: &[Schedule], arch: Arch) {
    let Some(compiler) = Compiler::find(test) else { return };
    let problem = problem(source);
    for schedule in schedules {
        schedule.check(&problem.class(), arch).unwrap();
        let (kernel, plan) = emit::kernel(&problem, schedule);
        let module = Module::parse(&compiler.ptx(&kernel, arch, None).unwrap()).unwrap();
        for (seed, (m, n, k)) in (0..).zip(SHAPES) {
            let told = run(source, (&plan, &module), arch, shape(m, n, k), seed);
            assert!(told >= m as usize, "of {m}x{n}x{k} by {schedule} {told} numbers were told");
        }
    }
}

#[test]
fn exponentials_of_cooperating_and_alternating_consumers_are_summed() {
    let test = "exponentials_of_cooperating_and_alternating_consumers_are_summed";
    check(test, LOSS, &CREWS.map(Schedule::Sm90), Arch::SM_90A);
    let of_fewer_columns_than_are_held = Sm90Schedule { tile_n: 24, ..SM90 };
    check(test, LOSS, &[Schedule::Sm90(of_fewer_columns_than_are_held)], Arch::SM_90A);
}

#[test]
fn exponentials_of_split_and_swapped_tiles_are_summed() {
    check(
        "exponentials_of_split_and_swapped_tiles_are_summed",
        LOSS,
        &SPLIT_AND_SWAPPED.map(Schedule::Sm90),
        Arch::SM_90A,
    );
}

#[test]
fn exponentials_of_tiles_that_warps_share_are_summed() {
    check("exponentials_of_tiles_that_warps_share_are_summed", LOSS, &SHARED_BY_WARPS.map(Schedule::Sm80), Arch::SM_80);
}

#[test]
fn exponentials_of_what_two_products_make_are_summed_beside_elements() {
    let test = "exponentials_of_what_two_products_make_are_summed_beside_elements";
    check(test, TWO, &OF_TWO_PRODUCTS.map(Schedule::Sm90), Arch::SM_90A);
    check(test, TWO, &[Schedule::Sm80(SM80)], Arch::SM_80);
}

#[test]
fn rows_of_elements_that_are_written_nowhere_are_reduced() {
    let test = "rows_of_elements_that_are_written_nowhere_are_reduced";
    let swapped = Sm90Schedule { tile_m: 24, swap_ab: true, ..SM90 };
    check(test, SUMS, &[SM90, swapped].map(Schedule::Sm90), Arch::SM_90A);
    check(test, SUMS, &[Schedule::Sm80(SM80)], Arch::SM_80);
}

#[test]
fn the_reference_sums_exponentials() {
    let Some(compiler) = Compiler::find("the_reference_sums_exponentials") else { return };
    for source in [LOSS, TWO, SUMS] {
        let (kernel, plan) = emit::reference(&problem(source));
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_80, None).unwrap()).unwrap();
        for (m, n, k) in [(37, 50, 21), (12, 300, 7), (13, 4, 0)] {
            run(source, (&plan, &module), Arch::SM_80, shape(m, n, k), 0);
        }
    }
}

/// Changes of headers, each with a kernel that they make wrong.
const MUTANTS: [(&str, &str, &str, &str); 9] = [
    ("body_joined.cuh", "return sum * exponential(from, to);", "return sum;", LOSS),
    ("body_joined.cuh", "maximum == kNothing ? 0.0f : maximum;", "maximum;", LOSS),
    ("body_joined.cuh", "columns > 0 && maximum == kNothing ? __int_as_float(0x7fffffff) : sum;", "sum;", TWO),
    ("body_joined.cuh", "count >= 2 ? high.values[term] : kNothing", "high.values[term]", LOSS),
    ("body_joined.cuh", "        element = kNothing;\n", "", LOSS),
    ("body_joined.cuh", "      relative_to[statistic][i] = to;\n", "", LOSS),
    ("body_joined.cuh", "before[maximum], reduced[maximum]", "reduced[maximum], reduced[maximum]", LOSS),
    ("body_joined.cuh", "i < kOthers; ++i", "i + 1 < kOthers; ++i", LOSS),
    ("sm90_unstored.cuh", "acc + first / 2", "acc", SUMS),
];

#[test]
fn a_mutant_of_the_joined_sums_is_wrong_somewhere() {
    let Some(compiler) = Compiler::find("a_mutant_of_the_joined_sums_is_wrong_somewhere") else { return };
    let change = |&(file, before, after, _): &_| Change { file, before, after };
    for (file, before, after, source) in sample_mutants(MUTANTS, 6, change) {
        let problem = problem(source);
        // Elements of a row are held more than once, and in the end not as many as can be.
        let (kernel, plan) = emit::kernel(&problem, &Schedule::Sm90(Sm90Schedule { tile_n: 176, ..SM90 }));
        let module =
            Module::parse(&compiler.ptx(&kernel, Arch::SM_90A, Some(Change { file, before, after })).unwrap()).unwrap();
        let is_right = [(70, 333, 40), (14, 3000, 8), (26, 5, 8)].into_iter().all(|(m, n, k)| {
            let run = || run(source, (&plan, &module), Arch::SM_90A, shape(m, n, k), 3);
            catch_unwind(AssertUnwindSafe(run)).is_ok()
        });
        assert!(!is_right, "nothing was wrong with `{after}` in the place of `{before}`");
    }
}
