//! Reductions along rows of a product: parts that warps leave, and the warps that bring them together where a tile was the last of its
//! rows. Sums of small integers, exact in any order; those of fractions are the same bits in any order of events.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::arguments;
use crate::support::case::{SM80, SM90};
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, Shape, allocate, download, product, shape};
use crate::support::reducing::{CREWS, OF_TWO_PRODUCTS, SHARED_BY_CLUSTERS, SHARED_BY_WARPS, SPLIT_AND_SWAPPED};
use crate::support::sample::sample_mutants;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{Bf16, F32};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_core::LaunchPlan;
use autokernel_emulator::{Gpu, Module, Options};

const ONE: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, sums: &mut Column<f32>, out: &mut Matrix<f32>, \
                   spread: &mut Column<f32>) {
    let y = dot(x, w.t());
    out = y;
    let largest = row_max(y);
    sums = row_sum(y) * scale;
    spread = largest - row_min(y + y);
}";

const TWO: &str =
    "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<f32>, sums: &mut Column<f32>) {
    let y = dot(x, w.t()) - 2.0 * dot(x, up.t());
    out = y;
    sums = row_sum(y);
}";

/// Several tiles with ragged edges; less than a tile; one row; and no K.
const SHAPES: [(u32, u32, u32); 4] = [(130, 200, 72), (70, 67, 200), (1, 300, 64), (9, 24, 0)];

fn problem(source: &str) -> Problem {
    autokernel_codegen::product::problem(&syn::parse_str(source).unwrap()).unwrap()
}

/// Runs a kernel of `source` in two orders of events in the same workspace, which gives zeros back.
fn run(source: &str, compiled: (&KernelSource, &LaunchPlan), module: &Module, arch: Arch, of: Shape, seed: u64) {
    let (problem, Shape { m, n, k }) = (problem(source), of);
    let (kernel, plan) = compiled;
    let mut gpu = Gpu::new(match arch {
        Arch::SM_80 => autokernel_emulator::Arch::Sm80,
        _ => autokernel_emulator::Arch::Sm90a,
    });
    let ld = k.next_multiple_of(8);
    let [x, w, up] = [(m, 1), (n, 2), (n, 3)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
    let scale = Matrix::integers(1, m, m, 4 + seed);
    let has_two = source == TWO;
    let mut operands = vec![x.upload(&mut gpu, "x", Bf16), w.upload(&mut gpu, "w", Bf16)];
    operands.push(if has_two { up.upload(&mut gpu, "up", Bf16) } else { scale.upload(&mut gpu, "scale", F32) });
    let out = allocate(&mut gpu, "out", F32, m, n, n, 0);
    let [sums, spread] = ["sums", "spread"].map(|name| allocate(&mut gpu, name, F32, 1, m, m, 0));
    operands.extend(if has_two { vec![out, sums] } else { vec![sums, out, spread] });

    let (launches, workspace) =
        arguments::steps(&mut gpu, arguments::MULTIPROCESSORS, &signature(&problem), plan, extents(m, n, k), &operands);
    let what = format!("{}, {m}x{n}x{k}, seed {seed}", kernel.symbol);
    let of_one = product(&x, &w, Layout::Nt, of);
    let of_two = of_one.iter().zip(product(&x, &up, Layout::Nt, of)).map(|(one, two)| one - 2.0 * two);
    let elements: Vec<f64> = if has_two { of_two.collect() } else { of_one };
    let rows = || elements.chunks(n as usize);
    let sum = |row: &[f64]| row.iter().sum::<f64>();
    let of_sums: Vec<f64> =
        rows().zip(&scale.values).map(|(row, scale)| sum(row) * if has_two { 1.0 } else { *scale }).collect();
    let largest = |row: &[f64]| row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = |row: &[f64]| row.iter().copied().fold(f64::INFINITY, f64::min);
    let of_spread: Vec<f64> = rows().map(|row| largest(row) - 2.0 * least(row)).collect();
    for order in 0..2 {
        for numbers in [sums, spread] {
            gpu.write(numbers.pointer, &vec![0x55; m as usize * size_of::<f32>()]).expect("an operand is there");
        }
        let options = Options { seed: 2 * seed + order, instruction_budget: 1 << 26, ..Options::default() };
        for (step, launch) in plan.kernels.iter().zip(&launches) {
            gpu.launch(module, &step.symbol, launch, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        assert!(workspace.is_left_as_found(&mut gpu), "counters of {what}");
        assert_eq!(download(&mut gpu, out, F32), elements, "{what}");
        assert_eq!(download(&mut gpu, sums, F32), of_sums, "sums of {what}");
        if !has_two {
            assert_eq!(download(&mut gpu, spread, F32), of_spread, "spread of {what}");
        }
    }
}

fn check(test: &str, source: &str, schedules: &[Schedule], arch: Arch) {
    let Some(compiler) = Compiler::find(test) else { return };
    let problem = problem(source);
    for schedule in schedules {
        schedule.check(&problem.class(), arch).unwrap();
        let (kernel, plan) = emit::kernel(&problem, schedule);
        let module = Module::parse(&compiler.ptx(&kernel, arch, None).unwrap()).unwrap();
        for (seed, (m, n, k)) in (0..).zip(SHAPES) {
            run(source, (&kernel, &plan), &module, arch, shape(m, n, k), seed);
        }
    }
}

#[test]
fn rows_of_cooperating_and_alternating_consumers_are_reduced() {
    let test = "rows_of_cooperating_and_alternating_consumers_are_reduced";
    check(test, ONE, &CREWS.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn rows_of_split_and_swapped_tiles_are_reduced() {
    check("rows_of_split_and_swapped_tiles_are_reduced", ONE, &SPLIT_AND_SWAPPED.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn rows_of_tiles_that_clusters_share_are_reduced() {
    check("rows_of_tiles_that_clusters_share_are_reduced", ONE, &SHARED_BY_CLUSTERS.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn rows_of_tiles_that_warps_share_are_reduced() {
    check("rows_of_tiles_that_warps_share_are_reduced", ONE, &SHARED_BY_WARPS.map(Schedule::Sm80), Arch::SM_80);
}

#[test]
fn rows_of_what_two_products_make_are_reduced() {
    let test = "rows_of_what_two_products_make_are_reduced";
    check(test, TWO, &OF_TWO_PRODUCTS.map(Schedule::Sm90), Arch::SM_90A);
    check(test, TWO, &[Schedule::Sm80(SM80)], Arch::SM_80);
}

#[test]
fn the_reference_reduces_rows() {
    let Some(compiler) = Compiler::find("the_reference_reduces_rows") else { return };
    for source in [ONE, TWO] {
        let (kernel, plan) = emit::reference(&problem(source));
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_80, None).unwrap()).unwrap();
        for (m, n, k) in [(37, 50, 21), (5, 300, 7), (3, 4, 0)] {
            run(source, (&kernel, &plan), &module, Arch::SM_80, shape(m, n, k), 0);
        }
    }
}

/// Changes of headers, each with a schedule whose kernel they make wrong: tiles that are not counted once, parts that are read before they
/// are there, and rows that are brought together in part, or are none of C.
#[test]
fn counters_and_parts_that_are_not_ordered_nor_whole_are_found() {
    let Some(compiler) = Compiler::find("counters_and_parts_that_are_not_ordered_nor_whole_are_found") else { return };
    let (statistics, rows) = ("body_statistics.cuh", "sm90_rows.cuh");
    let [split, crew] = [SPLIT_AND_SWAPPED[0], CREWS[2]];
    let mutants: [(&str, &str, &str, Sm90Schedule); 13] = [
        (statistics, "ptx::fetch_add_ordered(counter, 1)", "ptx::fetch_add_relaxed(counter, 1)", crew),
        (statistics, "if (is_last) *counter = 0;", "", SM90),
        (statistics, "static_cast<uint32_t>(arrivals - 1)", "static_cast<uint32_t>(arrivals - 2)", SM90),
        (statistics, "group += kSlices * kAccesses", "group += 2 * kSlices * kAccesses", SPLIT_AND_SWAPPED[1]),
        (statistics, "int mask = kLanes;", "int mask = 2 * kLanes;", SPLIT_AND_SWAPPED[1]),
        (statistics, "i += kSlices)", "i += 2 * kSlices)", SPLIT_AND_SWAPPED[4]),
        (statistics, "if (number + i >= of.count) break;", "", SM90),
        (statistics, "row < parts.stride()", "row < place.rows", SM90),
        (rows, "ptx::named_barrier_wait(kMet + turn, kThreads);", "", split),
        (rows, "if (was_told) ptx::named_barrier_wait(kReady + turn, kThreads + kWarpSize);", "", SM90),
        (rows, "if ((whole_shares >> share & 1) == 0) continue;", "", SM90),
        (rows, "    if (row >= args.m) return;\n", "", crew),
        (
            "sm90_tiles.cuh",
            "clusters_n * G::kClusterN * (G::kSplits ? split_k : 1)",
            "clusters_n * G::kClusterN",
            split,
        ),
    ];
    let change = |&(file, before, after, _): &_| Change { file, before, after };
    for (file, before, after, schedule) in sample_mutants(mutants, 6, change) {
        let (kernel, plan) = emit::kernel(&problem(ONE), &Schedule::Sm90(schedule));
        let change = Change { file, before, after };
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_90A, Some(change)).unwrap()).unwrap();
        let is_right = [(130, 200, 72), (70, 67, 200), (9, 3000, 8), (200, 70, 8)].into_iter().all(|(m, n, k)| {
            let run = || run(ONE, (&kernel, &plan), &module, Arch::SM_90A, shape(m, n, k), 1);
            catch_unwind(AssertUnwindSafe(run)).is_ok()
        });
        assert!(!is_right, "nothing was wrong with `{after}` in the place of `{before}`");
    }
}
