//! The skinny_sm80 family: few rows, and factors that begin anywhere.
//!
//! Allocations end with an operand's last element and begin with its first, but for a skew that nobody writes; neither does anybody
//! write what lies between rows. A word that reaches for either is a fault.

use crate::support::case::{Case, Outcome, SKINNY, Variation, problem};
use crate::support::compile::{Change, Compiler};
use crate::support::host::shape;
use crate::support::sample::sample_mutants;
use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32};
use autokernel_codegen::matmul::problem::Layout::{self, Nn, Nt};
use autokernel_codegen::matmul::schedule::{Schedule, SkinnySchedule};

const NT: SkinnySchedule = SkinnySchedule { tile_n: 32, tile_k: 512, ..SKINNY };

fn check(test: &str, cases: &[Case], runs: &[((u32, u32, u32), Variation)]) {
    let Some(compiler) = Compiler::find(test) else { return };
    for case in cases {
        case.check();
        let module = case.compile(&compiler, None).unwrap();
        for &((m, n, k), variation) in runs {
            let what = format!("{} by {}, {m}x{n}x{k}, {variation:?}", case.problem, case.schedule);
            case.run(&module, shape(m, n, k), variation).expect_right(&what);
        }
    }
}

/// Shapes of a row and of more than a tile, within a word, a step and a stretch of K and beyond them, and of no K.
const SHAPES: [(u32, u32, u32); 8] =
    [(1, 1, 1), (1, 5, 3), (3, 57, 130), (9, 113, 257), (8, 64, 128), (11, 130, 1), (1, 9, 1031), (5, 8, 0)];

#[test]
fn every_layout_and_type_is_right_on_ragged_shapes() {
    let cases = [
        (problem(Bf16, Bf16, Nn, "identity"), SKINNY),
        (problem(F16, F32, Nn, "leaky_relu(0.25)"), SkinnySchedule { tile_n: 128, stages: 1, ..SKINNY }),
        (problem(F16, F16, Nn, "relu"), SkinnySchedule { tile_m: 64, overlap: true, ..SKINNY }),
        (problem(Bf16, F32, Nn, "identity"), SkinnySchedule { warps: 16, stages: 1, ..SKINNY }),
        (problem(Bf16, Bf16, Nt, "identity"), NT),
        (problem(F16, F32, Nt, "relu"), SkinnySchedule { tile_n: 16, warps: 16, stages: 1, overlap: true, ..NT }),
        (problem(Bf16, F32, Nt, "identity"), SkinnySchedule { tile_m: 32, tile_n: 64, stages: 1, ..NT }),
    ];
    let cases = cases.map(|(problem, schedule)| Case { problem, schedule: Schedule::Skinny(schedule) });
    let on = |multiprocessors| Variation { multiprocessors, ..Variation::default() };
    let several_tiles_of_a_block = [((19, 240, 150), on(1)), ((3, 470, 1031), on(1))];
    let runs: Vec<_> =
        SHAPES.map(|shape| (shape, Variation::default())).into_iter().chain(several_tiles_of_a_block).collect();
    check("every_layout_and_type_is_right_on_ragged_shapes", &cases, &runs);
}

#[test]
fn rows_of_every_stride_and_base_are_right_in_any_order_of_events() {
    let case = |layout, schedule| Case {
        problem: problem(Bf16, Bf16, layout, "identity"),
        schedule: Schedule::Skinny(schedule),
    };
    let cases = [case(Nn, SKINNY), case(Nt, NT)];
    let shapes = [(3, 66, 140), (2, 13, 33)];
    let variation = |(skew, padding): (u32, u32), seed| Variation {
        seed,
        padding: [(padding + skew) % 8, padding, padding % 3],
        skew: [(3 * skew + padding) % 8, skew],
        skew_c: 2 * u64::from(padding % 3),
        ..Variation::default()
    };
    let all = (0..8).flat_map(|skew| (0..8).map(move |padding| (skew, padding)));
    let runs: Vec<_> = (1..).zip(all).map(|(seed, lies)| (shapes[seed as usize % 2], variation(lies, seed))).collect();
    check("rows_of_every_stride_and_base_are_right_in_any_order_of_events", &cases, &runs);
}

const fn change(file: &'static str, before: &'static str, after: &'static str) -> Change<'static> {
    Change { file, before, after }
}

#[test]
fn what_is_no_number_shows_in_its_own_row_and_column_alone() {
    let case = |layout, schedule| Case {
        problem: problem(Bf16, F32, layout, "identity"),
        schedule: Schedule::Skinny(schedule),
    };
    let variation = |seed, skew| Variation { seed, skew, not_numbers: true, ..Variation::default() };
    let runs = [((3, 61, 35), variation(1, [0, 0])), ((10, 9, 261), variation(2, [5, 3]))];
    let test = "what_is_no_number_shows_in_its_own_row_and_column_alone";
    check(test, &[case(Nn, SKINNY), case(Nt, NT)], &runs);
}

/// Changes that a careless edit could make, each of which a run must notice: as a fault, as a race, or in results. With the layout.
const MUTANTS: [(Layout, Change<'_>); 17] = [
    (Nn, change("skinny_sm80_words.cuh", "first >= begin && first + elements <= end", "first >= begin")),
    (Nn, change("skinny_sm80_words.cuh", "first >= begin && first + elements <= end", "first + elements <= end")),
    (Nn, change("skinny_sm80_words.cuh", "ld == columns || rows == 1", "true")),
    (Nt, change("skinny_sm80_words.cuh", "ld == columns || rows == 1", "true")),
    (Nn, change("skinny_sm80_b.cuh", "column_of_warp_ + S::kTileN <= n_;", "true;")),
    (Nn, change("skinny_sm80_b.cuh", "if (last >= k_) return false;", "")),
    (Nn, change("skinny_sm80_b.cuh", "k_ - (is_in_rows ? 0 : 1)", "k_")),
    (Nn, change("skinny_sm80_b.cuh", " || ld_ < S::kTileN", "")),
    (Nt, change("skinny_sm80_b.cuh", "of_warp_ + S::kWarpK + kWordElements <= k_", "true")),
    (Nt, change("skinny_sm80_b.cuh", "elements & 0xffff : 0", "elements : elements")),
    (Nt, change("skinny_sm80_b.cuh", "rows_ >= S::kTileN && ", "")),
    (Nn, change("skinny_sm80_a.cuh", "at < count ? quarter", "true ? quarter")),
    (Nn, change("skinny_sm80_matmul.cuh", "staged_row == row;", "staged_row >= 0;")),
    (Nn, change("skinny_sm80_matmul.cuh", "k <= S::kTileK ? row : -1;", "row;")),
    (Nn, change("skinny_sm80_matmul.cuh", "if (begin > 0) __syncthreads();", "")),
    (Nn, change("skinny_sm80_matmul.cuh", "__syncthreads();  // all have read what was there before", "")),
    (Nn, change("skinny_sm80_matmul.cuh", "      __syncthreads();\n      for (int element", "      for (int element")),
];

#[test]
fn what_a_careless_edit_breaks_is_noticed() {
    let Some(compiler) = Compiler::find("what_a_careless_edit_breaks_is_noticed") else { return };
    for (layout, change) in sample_mutants(MUTANTS, 6, |(_, change)| *change) {
        let schedule = Schedule::Skinny(if layout == Nn { SKINNY } else { NT });
        let case = Case { problem: problem(Bf16, Bf16, layout, "identity"), schedule };
        let module = case.compile(&compiler, Some(change)).unwrap();
        let lies = [([0; 3], [0; 2]), ([0; 3], [3, 5]), ([3, 5, 1], [1, 2])];
        let noticed = (1..).zip(lies).any(|(seed, (padding, skew))| {
            // Where there is one multiprocessor a block computes tile after tile.
            let multiprocessors = if seed == 1 { 1 } else { Variation::default().multiprocessors };
            let not_numbers = seed == 2;
            let variation = Variation { seed, padding, skew, not_numbers, multiprocessors, ..Variation::default() };
            let shapes = [
                (3, 61, 530),
                (9, 130, 37),
                (17, 64, 300),
                (17, 230, 300),
                (17, 230, 100),
                (3, 130, 512),
                (3, 20, 512),
            ];
            shapes.iter().any(|&(m, n, k)| !matches!(case.run(&module, shape(m, n, k), variation), Outcome::Right(_)))
        });
        assert!(noticed, "{change:?}");
    }
}
