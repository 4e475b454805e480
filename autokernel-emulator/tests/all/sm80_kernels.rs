//! The sm80 family: mma.sync, ldmatrix, cp.async.

use crate::support::case::{Case, SM80, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::dtype::Dtype::{Bf16, E4m3, E5m2, F16, F32, I8};
use autokernel_codegen::matmul::inputs::other;
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt, Tn, Tt};
use autokernel_codegen::matmul::problem::Problem;
use autokernel_codegen::matmul::schedule::{Schedule, Sm80Schedule};

/// Shapes that end inside, at and beyond tiles.
const SHAPES: [(u32, u32, u32); 5] = [(64, 64, 64), (65, 72, 40), (1, 130, 33), (100, 17, 100), (7, 8, 0)];

fn check(test: &str, cases: &[Case], variations: &[Variation]) {
    let Some(compiler) = Compiler::find(test) else { return };
    for case in cases {
        case.check();
        let module = case.compile(&compiler, None).unwrap();
        for &(m, n, k) in &SHAPES {
            for &variation in variations {
                let what = format!("{} by {}, {m}x{n}x{k}, {variation:?}", case.problem, case.schedule);
                case.run(&module, shape(m, n, k), variation).expect_right(&what);
            }
        }
    }
}

#[test]
fn every_layout_and_type_is_right_on_ragged_shapes() {
    let cases = [
        (problem(Bf16, Bf16, Nt, "identity"), SM80),
        (problem(Bf16, F32, Nn, "relu"), SM80),
        (problem(F16, F16, Nn, "leaky_relu(0.25)"), Sm80Schedule { tile_k: 64, stages: 2, ..SM80 }),
        (problem(F16, F32, Nt, "identity"), Sm80Schedule { tile_m: 32, tile_n: 128, warps_m: 1, warps_n: 4, ..SM80 }),
        (problem(Bf16, Bf16, Tn, "identity"), SM80),
        (
            problem(F16, F32, Tt, "relu"),
            Sm80Schedule { tile_m: 128, tile_n: 32, tile_k: 64, warps_m: 4, warps_n: 1, ..SM80 },
        ),
    ];
    let cases = cases.map(|(problem, schedule)| Case { problem, schedule: Schedule::Sm80(schedule) });
    check("every_layout_and_type_is_right_on_ragged_shapes", &cases, &[Variation::default()]);
}

#[test]
fn whole_numbers_of_8_bits_are_right_on_ragged_shapes_and_rows_of_any_alignment() {
    let test = "whole_numbers_of_8_bits_are_right_on_ragged_shapes_and_rows_of_any_alignment";
    let cases = [
        (problem(I8, F32, Nt, "identity"), Sm80Schedule { tile_k: 64, ..SM80 }),
        (problem(I8, F16, Nt, "relu"), Sm80Schedule { tile_n: 128, tile_k: 128, warps_m: 1, warps_n: 4, ..SM80 }),
        (
            problem(I8, Bf16, Nt, "leaky_relu(0.25)"),
            Sm80Schedule { tile_m: 128, tile_n: 32, tile_k: 64, warps_m: 4, warps_n: 1, stages: 2, ..SM80 },
        ),
    ];
    let cases = cases.map(|(problem, schedule)| Case { problem, schedule: Schedule::Sm80(schedule) });
    let padded = Variation { seed: 1, padding: [1, 4, 3], ..Variation::default() };
    check(test, &cases, &[Variation::default(), padded]);
}

#[test]
fn floats_of_32_bits_as_tf32_are_right_on_ragged_shapes_and_rows_of_any_alignment() {
    let test = "floats_of_32_bits_as_tf32_are_right_on_ragged_shapes_and_rows_of_any_alignment";
    let cases = [
        (problem(F32, F32, Nt, "identity"), Sm80Schedule { tile_k: 16, ..SM80 }),
        (
            problem(F32, F32, Nt, "leaky_relu(0.25)"),
            Sm80Schedule { tile_m: 32, tile_n: 128, tile_k: 32, warps_m: 1, warps_n: 4, stages: 2, ..SM80 },
        ),
    ];
    let cases = cases.map(|(problem, schedule)| Case { problem, schedule: Schedule::Sm80(schedule) });
    let padded = Variation { seed: 1, padding: [1, 4, 3], eighths: true, ..Variation::default() };
    check(test, &cases, &[Variation::default(), padded]);
}

#[test]
fn floats_of_8_bits_are_right_on_ragged_shapes_and_rows_of_any_alignment() {
    let test = "floats_of_8_bits_are_right_on_ragged_shapes_and_rows_of_any_alignment";
    let cases = [
        (problem(E4m3, Bf16, Nt, "identity"), Sm80Schedule { tile_k: 64, ..SM80 }),
        (problem(E5m2, F16, Nt, "relu"), Sm80Schedule { tile_n: 128, tile_k: 128, warps_m: 1, warps_n: 4, ..SM80 }),
        (
            problem(E4m3, F32, Nt, "leaky_relu(0.25)"),
            Sm80Schedule { tile_m: 32, tile_k: 64, warps_m: 1, stages: 5, ..SM80 },
        ),
    ];
    let mixed = cases.clone().into_iter().take(2).map(|(problem, schedule)| {
        let second = other(problem.input);
        (Problem { second, ..problem }, schedule)
    });
    let cases = mixed.chain(cases).map(|(problem, schedule)| Case { problem, schedule: Schedule::Sm80(schedule) });
    let cases: Vec<Case> = cases.collect();
    let padded = Variation { seed: 1, padding: [1, 4, 3], ..Variation::default() };
    check(test, &cases, &[Variation::default(), padded]);
    let plain = |case: &&Case| case.problem.epilogue == "identity".parse().unwrap();
    let plain: Vec<Case> = cases.iter().filter(plain).cloned().collect();
    check(test, &plain, &[Variation { not_numbers: true, ..Variation::default() }]);
}

#[test]
fn sums_of_whole_numbers_are_exact_beyond_what_fp32_holds_until_they_are_stored_by_the_portable_family() {
    let test = "sums_of_whole_numbers_are_exact_beyond_what_fp32_holds_until_they_are_stored_by_the_portable_family";
    let Some(compiler) = Compiler::find(test) else { return };
    let schedule = Sm80Schedule { tile_k: 128, ..SM80 };
    let case = Case { problem: problem(I8, F32, Nt, "identity"), schedule: Schedule::Sm80(schedule) };
    case.check();
    let module = case.compile(&compiler, None).unwrap();
    // 65 · 127² is below 2²⁴, 1301 · 124² is not.
    for (m, n, k) in [(65, 72, 65), (65, 72, 1301), (9, 130, 4000)] {
        let variation = Variation { largest: true, ..Variation::default() };
        case.run(&module, shape(m, n, k), variation).expect_right(&format!("{}, {m}x{n}x{k}", case.schedule));
    }
}

#[test]
fn rows_of_any_alignment_are_right_in_any_order_of_events() {
    let cases = [Nn, Tn]
        .map(|layout| Case { problem: problem(Bf16, Bf16, layout, "identity"), schedule: Schedule::Sm80(SM80) });
    let orders = if std::env::var_os("AUTOKERNEL_SOAK").is_some() { 24 } else { 4 };
    let variations: Vec<Variation> = (1..=orders)
        .map(|seed| Variation {
            seed,
            padding: [(seed % 3) as u32, (seed % 2) as u32, seed as u32],
            ..Variation::default()
        })
        .collect();
    check("rows_of_any_alignment_are_right_in_any_order_of_events", &cases, &variations);
}
