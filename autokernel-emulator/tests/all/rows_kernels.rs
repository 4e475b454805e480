//! Row-wise kernels: ragged widths, any alignment, every type, against fp64; mutants.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::compile::{Change, Compiler};
use crate::support::rows::{Compiled, Data, plain, problem, typed};
use crate::support::sample::sample_mutants;
use autokernel_codegen::rows::{Keep, Sm80Schedule};

const SOFTMAX: &str = "fn softmax(x: &Matrix<TYPE>, out: &mut Matrix<TYPE>) {
    let e = (x - row_max(x)).exp();
    out = e / row_sum(e);
}";

const LAYER_NORM: &str =
    "fn layer_norm(x: &Matrix<TYPE>, weight: &Row<TYPE>, bias: &Row<f32>, out: &mut Matrix<TYPE>) {
    let centred = x - row_mean(x);
    out = centred / (row_mean(centred * centred) + 1e-5).sqrt() * weight + bias;
}";

const ADD_RMS_NORM: &str = "fn add_rms_norm(
    x: &Matrix<TYPE>, skip: &Matrix<TYPE>, weight: &Row<TYPE>, sum: &mut Matrix<f32>, out: &mut Matrix<TYPE>
) {
    let y = x + skip;
    sum = y;
    out = y / (row_mean(y * y) + 1e-6).sqrt() * weight;
}";

const SILU_MUL: &str = "fn silu_mul(gate: &Matrix<TYPE>, up: &Matrix<TYPE>, out: &mut Matrix<TYPE>) {
    out = gate / (1.0 + (-gate).exp()) * up;
}";

const STATISTICS: &str = "fn statistics(
    x: &Matrix<TYPE>, scale: &Column<f32>, least: &mut Column<TYPE>, span: &mut Column<f32>, sum: &mut Column<f32>
) {
    least = row_min(x);
    span = row_max(x) - row_min(x);
    sum = row_sum(x * scale);
}";

const BRANCHES: &str = "fn branches(x: &Matrix<TYPE>, out: &mut Matrix<TYPE>) {
    let mean = row_mean(x);
    let y = if x < mean && !(x < -1.0) { x.max(-0.5) } else { 2.0 * x };
    out = y.abs().sqrt() + row_max(y);
}";

const WIDTHS: [u32; 9] = [1, 3, 7, 8, 64, 255, 256, 257, 1000];

#[test]
fn every_body_and_type_is_right_at_every_width() {
    let Some(compiler) = Compiler::find("every_body_and_type_is_right_at_every_width") else { return };
    for source in [SOFTMAX, LAYER_NORM, ADD_RMS_NORM, SILU_MUL, STATISTICS, BRANCHES] {
        for ty in ["bf16", "f16", "f32"] {
            let compiled = Compiled::new(&compiler, &typed(source, ty), &plain());
            for columns in WIDTHS {
                compiled.check(3, columns, Data { seed: columns.into(), ..Data::default() });
            }
        }
    }
}

#[test]
fn rows_may_begin_anywhere_and_lie_any_distance_apart() {
    let Some(compiler) = Compiler::find("rows_may_begin_anywhere_and_lie_any_distance_apart") else { return };
    let orders = if std::env::var_os("AUTOKERNEL_SOAK").is_some() { 24 } else { 8 };
    for (source, ty) in [(ADD_RMS_NORM, "bf16"), (LAYER_NORM, "f16"), (SOFTMAX, "f32")] {
        let compiled = Compiled::new(&compiler, &typed(source, ty), &plain());
        for seed in 0..orders {
            let padding = [seed % 3, seed % 2, (seed * 5) % 7];
            let skew = [seed % 8, seed / 2 % 4, (seed * 3) % 5];
            for columns in [1, 9, 250, 512, 700] {
                compiled.check(5, columns, Data { seed: seed.into(), padding, skew, ..Data::default() });
            }
        }
    }
}

#[test]
fn every_kind_of_schedule_is_right_on_rows_that_it_holds_and_on_longer_ones() {
    let test = "every_kind_of_schedule_is_right_on_rows_that_it_holds_and_on_longer_ones";
    let Some(compiler) = Compiler::find(test) else { return };
    let schedules = [
        Sm80Schedule { threads_per_row: 4, rows_per_block: 8, vectors: 1, ..plain() },
        Sm80Schedule { threads_per_row: 8, rows_per_block: 16, vectors: 4, keep: Keep::Inputs, ..plain() },
        Sm80Schedule { threads_per_row: 64, rows_per_block: 1, vector: 4, ..plain() },
        Sm80Schedule { threads_per_row: 64, rows_per_block: 4, vector: 2, vectors: 4, ..plain() },
        Sm80Schedule { threads_per_row: 128, rows_per_block: 2, blocks_per_sm: 1, ..plain() },
        Sm80Schedule { threads_per_row: 512, rows_per_block: 1, vectors: 1, blocks_per_sm: 2, ..plain() },
    ];
    for (source, ty) in [(SOFTMAX, "bf16"), (STATISTICS, "f16"), (ADD_RMS_NORM, "bf16")] {
        let problem = typed(source, ty);
        for schedule in schedules {
            if schedule.check(&problem.class(), autokernel_codegen::arch::Arch::SM_80).is_err() {
                continue;
            }
            let compiled = Compiled::new(&compiler, &problem, &schedule);
            let held = schedule.held_columns();
            for columns in [held / 2, held, held + 1, 2 * held + 5] {
                if columns <= 6000 {
                    compiled.check(9, columns, Data { seed: columns.into(), padding: [1, 0, 3], ..Data::default() });
                }
            }
        }
    }
}

#[test]
fn blocks_that_share_a_row_or_overlap_the_launch_before_are_right() {
    let test = "blocks_that_share_a_row_or_overlap_the_launch_before_are_right";
    let Some(compiler) = Compiler::find(test) else { return };
    let shared = Sm80Schedule { threads_per_row: 64, rows_per_block: 1, cluster: 2, ..plain() };
    let schedules = [
        Sm80Schedule { cluster: 1, ..plain() },
        Sm80Schedule { cluster: 1, blocks_per_sm: 1, ..plain() },
        shared,
        Sm80Schedule { blocks_per_sm: 1, ..shared },
    ];
    for (source, ty) in [(SOFTMAX, "bf16"), (STATISTICS, "f16"), (LAYER_NORM, "bf16")] {
        for schedule in schedules {
            let compiled = Compiled::new(&compiler, &typed(source, ty), &schedule);
            let held = schedule.held_columns();
            for columns in [8, held / 2, held, held + 1, 2 * held + 8] {
                compiled.check(5, columns, Data { seed: columns.into(), ..Data::default() });
                compiled.check(3, columns, Data { seed: columns.into(), padding: [1, 0, 3], ..Data::default() });
            }
        }
    }
}

#[test]
fn rows_of_which_shared_memory_holds_a_part_are_right() {
    let Some(compiler) = Compiler::find("rows_of_which_shared_memory_holds_a_part_are_right") else { return };
    let parked = Sm80Schedule { threads_per_row: 64, rows_per_block: 1, vectors: 1, parked: 4, ..plain() };
    let schedules = [parked, Sm80Schedule { vectors: 2, parked: 5, keep: Keep::Inputs, ..parked }];
    for (source, ty) in
        [(SOFTMAX, "bf16"), (SOFTMAX, "f16"), (LAYER_NORM, "f32"), (ADD_RMS_NORM, "f32"), (BRANCHES, "f16")]
    {
        let problem = typed(source, ty);
        for schedule in schedules {
            if schedule.check(&problem.class(), autokernel_codegen::arch::Arch::SM_80).is_err() {
                continue;
            }
            let compiled = Compiled::new(&compiler, &problem, &schedule);
            let held = schedule.held_columns();
            for columns in [8, held / 2 + 8, held, held + 8, 2 * held + 24] {
                compiled.check(3, columns, Data { seed: columns.into(), ..Data::default() });
            }
            // Which begin anywhere.
            compiled.check(2, held - 3, Data { seed: 1, padding: [1, 0, 3], ..Data::default() });
        }
    }
}

#[test]
fn parts_of_rows_that_nothing_reduces_are_right_wherever_they_end() {
    let test = "parts_of_rows_that_nothing_reduces_are_right_wherever_they_end";
    let Some(compiler) = Compiler::find(test) else { return };
    let scaled = "fn scaled(x: &Matrix<TYPE>, by: &Column<f32>, of: &mut Column<f32>, out: &mut Matrix<TYPE>) {
        of = by * 2.0;
        out = x * by + column_index();
    }";
    let narrow = Sm80Schedule { threads_per_row: 4, rows_per_block: 8, vectors: 1, vector: 2, ..plain() };
    for (source, ty) in [(SILU_MUL, "bf16"), (scaled, "f16"), (SILU_MUL, "f32")] {
        for schedule in [plain(), narrow] {
            let compiled = Compiled::new(&compiler, &typed(source, ty), &schedule);
            let held = schedule.held_columns();
            for (seed, columns) in
                (0..).zip([1, held - 1, held, held + 1, 3 * held + schedule.vector - 1, 9 * held + 5])
            {
                compiled.check(11, columns, Data { seed, ..Data::default() });
                compiled.check(3, columns, Data { seed, padding: [1, 0, 3], skew: [3, 1, 0], ..Data::default() });
            }
        }
        // So many columns that the parts are one fewer than their vectors need.
        let compiled = Compiled::new(&compiler, &typed(source, ty), &narrow);
        compiled.check(1, 8 * 40, Data { seed: 3, ..Data::default() });
    }
}

/// Changes of the two walks above, each of which a width shows.
const MUTANTS: [(&str, &str, &str); 12] = [
    ("rows_parked.cuh", "if constexpr (kPass == 0 && !kParksKept) Slots::wait();", ""),
    ("rows_parked.cuh", "(Base::kVectors + parked) * Base::kThreadsPerRow", "parked * Base::kThreadsPerRow"),
    ("rows_parked.cuh", "row.span(start_of(parked), 0));", "row.span(start_of(0), 0));"),
    ("rows_parked.cuh", "Slots::collect(first + i, inputs, packed);", "Slots::collect(first, inputs, packed);"),
    ("rows_parked.cuh", "+ threadIdx.x * kMostAccessBytes;", ";"),
    ("rows_parked.cuh", "park(first + i, group.kept[i]);", "park(first, group.kept[i]);"),
    ("rows_parked.cuh", "collect(first + i, group.kept[i]);", "collect(i, group.kept[i]);"),
    ("rows_parked.cuh", "start < row.vectors; start += Base", "start < row.vectors; start += 2 * Base"),
    ("rows_parked.cuh", "      rest<kPass>(row, values, reduced);\n", ""),
    ("rows_elementwise.cuh", "start += parts * Base::kStretch;", "start += Base::kStretch * (parts + 1);"),
    ("rows_elementwise.cuh", "if (start >= row.vectors) break;", "break;"),
    ("rows_elementwise.cuh", "row.is_inside && start == 0 && Team", "row.is_inside && start > 0 && Team"),
];

#[test]
fn a_mutant_of_rows_in_parts_is_caught() {
    let Some(compiler) = Compiler::find("a_mutant_of_rows_in_parts_is_caught") else { return };
    let parked = Sm80Schedule { threads_per_row: 32, rows_per_block: 1, vectors: 1, parked: 8, ..plain() };
    let scaled = "fn scaled(x: &Matrix<f32>, by: &Column<f32>, of: &mut Column<f32>, out: &mut Matrix<f32>) {
        of = by * 2.0;
        out = x * by + column_index();
    }";
    let narrow = Sm80Schedule { threads_per_row: 4, rows_per_block: 8, vectors: 1, vector: 2, ..plain() };
    let shown_by = [
        ("rows_elementwise.cuh", typed(scaled, "f32"), narrow),
        ("", typed(SOFTMAX, "bf16"), parked),
        ("", typed(ADD_RMS_NORM, "f32"), parked),
    ];
    let changes = MUTANTS.map(|(file, before, after)| Change { file, before, after });
    for change in sample_mutants(changes, 6, |change| *change) {
        let is_caught = shown_by.iter().any(|(of, problem, schedule)| {
            if (*of == "rows_elementwise.cuh") != (change.file == "rows_elementwise.cuh") {
                return false;
            }
            let mutant = Compiled::changed(&compiler, problem, schedule, change);
            let held = schedule.held_columns();
            [held, held - 8, 40 * schedule.vector, 3 * held + 16].into_iter().any(|columns| {
                let check = || mutant.check(3, columns, Data { seed: 1, ..Data::default() });
                catch_unwind(AssertUnwindSafe(check)).is_err()
            })
        });
        assert!(is_caught, "nothing was wrong with {change:?}");
    }
}

#[test]
fn not_a_number_and_infinities_go_where_the_body_sends_them() {
    let test = "not_a_number_and_infinities_go_where_the_body_sends_them";
    let Some(compiler) = Compiler::find(test) else { return };
    for source in [SOFTMAX, LAYER_NORM, SILU_MUL, STATISTICS, BRANCHES] {
        let compiled = Compiled::new(&compiler, &typed(source, "bf16"), &plain());
        for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e38, -1e38, 1e-39] {
            for columns in [5, 100, 601] {
                compiled.check(4, columns, Data { seed: columns.into(), special: Some(special), ..Data::default() });
            }
        }
    }
}

#[test]
fn a_row_of_divisors_beyond_the_normal_range_is_divided_and_not_multiplied() {
    let test = "a_row_of_divisors_beyond_the_normal_range_is_divided_and_not_multiplied";
    let Some(compiler) = Compiler::find(test) else { return };
    let source =
        "fn f(x: &Matrix<f32>, scale: &Column<f32>, out: &mut Matrix<f32>) { out = x * 1e-38 / (scale * 1e-39); }";
    let compiled = Compiled::new(&compiler, &problem(source), &plain());
    compiled.check(8, 100, Data { seed: 1, ..Data::default() });
}

#[test]
fn the_same_bits_come_out_of_every_order_of_events() {
    let Some(compiler) = Compiler::find("the_same_bits_come_out_of_every_order_of_events") else { return };
    let schedule = Sm80Schedule { threads_per_row: 128, rows_per_block: 2, vectors: 1, ..plain() };
    let compiled = Compiled::new(&compiler, &typed(LAYER_NORM, "f32"), &schedule);
    let bits = |order| compiled.outputs(5, 1500, Data { seed: 7, ..Data::default() }, order);
    assert!((1..4).all(|order| bits(order) == bits(0)));
}

#[test]
fn the_reference_is_right_too() {
    let Some(compiler) = Compiler::find("the_reference_is_right_too") else { return };
    for source in [SOFTMAX, LAYER_NORM, ADD_RMS_NORM, STATISTICS, BRANCHES] {
        let compiled = Compiled::reference(&compiler, &typed(source, "f16"));
        for columns in [1, 100, 257, 600] {
            compiled.check(3, columns, Data { seed: 3, padding: [1, 2, 3], ..Data::default() });
        }
    }
}
