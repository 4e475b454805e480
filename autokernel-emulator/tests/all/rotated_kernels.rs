//! Elements that see partners of their row, as rotary embeddings do, beside what a table says of them. Sums of small integers, exact in
//! any order.

use crate::support::arguments;
use crate::support::case::{SM80, SM90};
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, Shape, allocate, download, product, shape};
use crate::support::sample::sample_mutants;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{Bf16, F32};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::matmul::{emit, extents};
use autokernel_codegen::rows::Columns;
use autokernel_core::LaunchPlan;
use autokernel_emulator::{Gpu, Module, Options};

/// Both outputs of one product, with halves of heads of so many columns, or neighbours, as partners.
fn one(rotated: &str) -> String {
    format!(
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, table: &Matrix<f32>, out: &mut Matrix<f32>, seen: &mut Matrix<f32>) {{
            let y = dot(x, w.t()) + row_index();
            let partner = {rotated};
            seen = partner;
            out = y * repeat_columns(table) + partner;
        }}"
    )
}

fn two(rotated: &str) -> String {
    format!(
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, table: &Matrix<f32>, up: &Matrix<bf16>, out: &mut Matrix<f32>, seen: &mut Matrix<f32>) {{
            let y = dot(x, w.t()) - 2.0 * dot(x, up.t()) + row_index();
            let partner = {rotated};
            seen = partner;
            out = y * repeat_columns(table) + partner;
        }}"
    )
}

const HALVES: &str = "rotate_half(y, 32)";
const WIDE_HALVES: &str = "rotate_half(y, 128)";
const NEIGHBOURS: &str = "rotate_pairs(y)";
/// No partner, so that tiles may be computed transposed.
const ITSELF: &str = "y";

fn columns_of(source: &str) -> Columns {
    match source {
        source if source.contains(HALVES) => Columns::RotateHalf(32),
        source if source.contains(WIDE_HALVES) => Columns::RotateHalf(128),
        source if source.contains(NEIGHBOURS) => Columns::RotatePairs,
        _ => Columns::Same,
    }
}

/// Several tiles with ragged edges, the last column's partner missing; less than a head; one row; whole heads; and no K.
const SHAPES: [(u32, u32, u32); 5] = [(130, 201, 72), (70, 27, 40), (1, 300, 64), (65, 256, 24), (9, 41, 0)];

fn problem(source: &str) -> Problem {
    autokernel_codegen::product::problem(&syn::parse_str(source).unwrap()).unwrap()
}

/// What is wrong with what a kernel of `source` gives.
fn run(
    source: &str,
    compiled: (&KernelSource, &LaunchPlan),
    module: &Module,
    arch: Arch,
    of: Shape,
    seed: u64,
) -> Result<(), String> {
    let (problem, Shape { m, n, k }) = (problem(source), of);
    let (kernel, plan) = compiled;
    let mut gpu = Gpu::new(match arch {
        Arch::SM_80 => autokernel_emulator::Arch::Sm80,
        _ => autokernel_emulator::Arch::Sm90a,
    });
    let ld = k.next_multiple_of(8);
    let [x, w, up] = [(m, 1), (n, 2), (n, 3)].map(|(rows, draw)| Matrix::integers(rows, k, ld, draw + seed));
    // Of an even number of columns, which pairs do not tear, and of an odd one.
    let own = if seed.is_multiple_of(2) { 16 } else { 5 };
    let table = Matrix::integers(m, own, own.next_multiple_of(2), 4 + seed);
    let has_two = source.contains("up.t()");
    let mut operands =
        vec![x.upload(&mut gpu, "x", Bf16), w.upload(&mut gpu, "w", Bf16), table.upload(&mut gpu, "table", F32)];
    operands.extend(has_two.then(|| up.upload(&mut gpu, "up", Bf16)));
    let [out, seen] = ["out", "seen"].map(|name| allocate(&mut gpu, name, F32, m, n, n, 0));
    operands.extend([out, seen]);
    let (launches, _workspace) =
        arguments::steps(&mut gpu, arguments::MULTIPROCESSORS, &signature(&problem), plan, extents(m, n, k), &operands);
    let what = format!("{}, {m}x{n}x{k}, seed {seed}", kernel.symbol);
    let options = Options { seed, instruction_budget: 1 << 27, ..Options::default() };
    for (step, launch) in plan.kernels.iter().zip(&launches) {
        gpu.launch(module, &step.symbol, launch, &options).map_err(|error| format!("{what}: {error}"))?;
    }

    let of_one = product(&x, &w, Layout::Nt, of);
    let of_other = product(&x, &up, Layout::Nt, of);
    let (rows, columns) = (m as usize, n as usize);
    let y = |row: usize, column: usize| {
        let at = row * columns + column;
        of_one[at] - if has_two { 2.0 * of_other[at] } else { 0.0 } + row as f64
    };
    let partner = |row, column| match columns_of(source).at(column, columns) {
        Some((partner, is_negated)) => {
            if is_negated {
                -y(row, partner)
            } else {
                y(row, partner)
            }
        }
        None => f64::NAN,
    };
    let (got, got_seen) = (download(&mut gpu, out, F32), download(&mut gpu, seen, F32));
    let same = |left: f64, right: f64| left == right || left.is_nan() && right.is_nan();
    for at in 0..rows * columns {
        let (row, column) = (at / columns, at % columns);
        let expected = partner(row, column);
        let of_table = table.values[row * own as usize + column % own as usize];
        let expected_out = y(row, column) * of_table + expected;
        if !same(got_seen[at], expected) || !same(got[at], expected_out) {
            return Err(format!(
                "{what}: row {row}, column {column} is {} and sees {}, not {expected_out} and {expected}",
                got[at], got_seen[at]
            ));
        }
    }
    Ok(())
}

fn check_shapes(
    source: &str,
    compiled: (&KernelSource, &LaunchPlan),
    module: &Module,
    arch: Arch,
) -> Result<(), String> {
    let mut shapes = (0..).zip(SHAPES);
    shapes.try_for_each(|(seed, (m, n, k))| run(source, compiled, module, arch, shape(m, n, k), seed))
}

fn check(test: &str, source: &str, schedules: &[Schedule], arch: Arch) {
    let Some(compiler) = Compiler::find(test) else { return };
    let problem = problem(source);
    for schedule in schedules {
        schedule.check(&problem.class(), arch).unwrap();
        let (kernel, plan) = emit::kernel(&problem, schedule);
        let module = Module::parse(&compiler.ptx(&kernel, arch, None).unwrap()).unwrap();
        check_shapes(source, (&kernel, &plan), &module, arch).unwrap();
    }
}

#[test]
fn halves_of_heads_are_partners_in_tiles_of_cooperating_and_alternating_consumers() {
    let schedules = [
        SM90,
        Sm90Schedule { tile_m: 128, tile_n: 96, consumers: 2, ..SM90 },
        Sm90Schedule { tile_n: 128, consumers: 2, mode: Mode::PingPong, cluster_m: 2, ..SM90 },
        Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SM90 },
        Sm90Schedule { stream_k: true, shared_waves: 1, ..SM90 },
    ];
    let test = "halves_of_heads_are_partners_in_tiles_of_cooperating_and_alternating_consumers";
    check(test, &one(HALVES), &schedules.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn heads_are_as_wide_as_what_is_staged_twice() {
    let schedules = [
        Sm90Schedule { tile_n: 128, ..SM90 },
        Sm90Schedule { tile_m: 128, tile_n: 256, consumers: 2, stages: 3, ..SM90 },
    ];
    check("heads_are_as_wide_as_what_is_staged_twice", &one(WIDE_HALVES), &schedules.map(Schedule::Sm90), Arch::SM_90A);
}

#[test]
fn neighbours_are_partners_in_tiles_of_any_width() {
    let schedules =
        [SM90, Sm90Schedule { tile_n: 72, ..SM90 }, Sm90Schedule { tile_m: 128, tile_n: 104, consumers: 2, ..SM90 }];
    check(
        "neighbours_are_partners_in_tiles_of_any_width",
        &one(NEIGHBOURS),
        &schedules.map(Schedule::Sm90),
        Arch::SM_90A,
    );
}

#[test]
fn tables_repeat_where_tiles_are_computed_transposed_too() {
    let schedules = [
        SM90,
        Sm90Schedule { tile_m: 16, swap_ab: true, ..SM90 },
        Sm90Schedule { tile_m: 40, tile_n: 128, consumers: 2, swap_ab: true, ..SM90 },
    ];
    let test = "tables_repeat_where_tiles_are_computed_transposed_too";
    check(test, &one(ITSELF), &schedules.map(Schedule::Sm90), Arch::SM_90A);
    check(test, &one(ITSELF), &[Schedule::Sm80(SM80)], Arch::SM_80);
}

#[test]
fn partners_are_made_of_two_products() {
    let test = "partners_are_made_of_two_products";
    for rotated in [HALVES, NEIGHBOURS] {
        check(test, &two(rotated), &[Schedule::Sm90(Sm90Schedule { tile_n: 128, ..SM90 })], Arch::SM_90A);
        check(test, &two(rotated), &[Schedule::Sm80(Sm80Schedule { warps_n: 1, ..SM80 })], Arch::SM_80);
    }
}

#[test]
fn partners_lie_in_a_warp_of_every_arch() {
    let test = "partners_lie_in_a_warp_of_every_arch";
    let narrow = Sm80Schedule { tile_m: 32, tile_n: 64, warps_m: 1, warps_n: 2, ..SM80 };
    let wide = Sm80Schedule { tile_m: 64, tile_n: 128, warps_m: 4, warps_n: 1, ..SM80 };
    check(test, &one(HALVES), &[narrow, wide].map(Schedule::Sm80), Arch::SM_80);
    check(test, &one(WIDE_HALVES), &[Schedule::Sm80(wide)], Arch::SM_80);
    check(test, &one(NEIGHBOURS), &[Schedule::Sm80(narrow)], Arch::SM_80);
}

#[test]
fn the_reference_finds_partners_by_itself() {
    let Some(compiler) = Compiler::find("the_reference_finds_partners_by_itself") else { return };
    for source in [one(HALVES), one(NEIGHBOURS), two(HALVES), two(NEIGHBOURS)] {
        let (kernel, plan) = emit::reference(&problem(&source));
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_80, None).unwrap()).unwrap();
        for (seed, (m, n, k)) in (0..).zip([(37, 50, 21), (5, 101, 7), (3, 4, 0)]) {
            run(&source, (&kernel, &plan), &module, Arch::SM_80, shape(m, n, k), seed).unwrap();
        }
    }
}

/// A mistake in a header, and the kernel that shows it.
const MUTANTS: [(&str, &str, &str); 6] = [
    ("body_rotated.cuh", "is_first ? -value : value", "value"),
    ("body_rotated.cuh", "values[kSides - 1 - side][element]", "values[side][element]"),
    ("body_rotated.cuh", "at.column + Pairing::kDistance < place.columns", "true"),
    ("body_rotated.cuh", "const bool is_there = partner.column < args.n;", "const bool is_there = true;"),
    ("body_repeated.cuh", "return own % 2 == 0 && Base::is_paired(data, ld);", "return Base::is_paired(data, ld);"),
    ("body_repeated.cuh", "column + 1 < own ? column + 1 : 0", "column"),
];

#[test]
fn every_mistake_in_what_partners_see_shows() {
    let Some(compiler) = Compiler::find("every_mistake_in_what_partners_see_shows") else { return };
    let (source, schedule) = (one(HALVES), Schedule::Sm90(SM90));
    let (kernel, plan) = emit::kernel(&problem(&source), &schedule);
    let changes = MUTANTS.map(|(file, before, after)| Change { file, before, after });
    for change in sample_mutants(changes, 4, |change| *change) {
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_90A, Some(change)).unwrap()).unwrap();
        let told = check_shapes(&source, (&kernel, &plan), &module, Arch::SM_90A);
        assert!(told.is_err(), "nothing shows {change:?}");
    }
}
