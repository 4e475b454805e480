//! Row-wise kernels whose two reductions are made in one pass: a maximum with exponentials, a mean with squares.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::compile::{Change, Compiler};
use crate::support::rows::{Compiled, Data, plain, typed};
use crate::support::sample::{sample, share};
use autokernel_codegen::rows::{Keep, Sm80Schedule};

const SOFTMAX: &str = "fn softmax(x: &Matrix<TYPE>, out: &mut Matrix<TYPE>) {
    let e = (x - row_max(x)).exp();
    out = e / row_sum(e);
}";

/// What else needs the maximum: a column of its own, and the elements behind the sum.
const LOGARITHM: &str =
    "fn f(x: &Matrix<TYPE>, top: &mut Column<f32>, least: &mut Column<f32>, out: &mut Matrix<TYPE>) {
    let greatest = row_max(x);
    let shifted = x - greatest;
    top = greatest;
    least = row_min(x);
    out = shifted - row_sum(shifted.exp()).ln();
}";

/// Exponentials by themselves, which each thread keeps relative to its own maximum.
const EXPONENTIALS: &str = "fn f(x: &Matrix<TYPE>, sum: &mut Column<f32>, out: &mut Matrix<TYPE>) {
    let e = (x - row_max(x)).exp();
    let total = row_sum(e);
    sum = total;
    out = if total > 0.0 { e } else { e * 2.0 };
}";

const LAYER_NORM: &str =
    "fn layer_norm(x: &Matrix<TYPE>, skip: &Matrix<TYPE>, weight: &Row<f32>, sum: &mut Matrix<TYPE>, out: &mut Matrix<TYPE>) {
    let y = x + skip;
    sum = y;
    let centred = y - row_mean(y);
    out = centred / (row_mean(centred * centred) + 1e-5).sqrt() * weight;
}";

const MOMENTS: &str = "fn f(x: &Matrix<TYPE>, mean: &mut Column<f32>, squares: &mut Column<f32>) {
    let m = row_mean(x);
    mean = m;
    squares = row_sum((x - m) * (x - m));
}";

const INF: f64 = f64::INFINITY;
/// Rows of one value, rows with a few of it, and rows where a few are left.
const ROWS: &[(f64, u32)] = &[
    (-INF, 100),
    (INF, 100),
    (f64::NAN, 100),
    (-INF, 2),
    (INF, 1),
    (f64::NAN, 1),
    (-INF, 98),
    (INF, 98),
    (f64::NAN, 98),
    (1e30, 50),
    (-1e30, 95),
    (-0.0, 100),
    (60.0, 1),
    (-300.0, 90),
];

const SOURCES: [(&str, &str); 6] = [
    (SOFTMAX, "bf16"),
    (SOFTMAX, "f32"),
    (LOGARITHM, "f16"),
    (EXPONENTIALS, "bf16"),
    (LAYER_NORM, "bf16"),
    (MOMENTS, "f32"),
];

fn joins() -> Sm80Schedule {
    Sm80Schedule { threads_per_row: 128, rows_per_block: 2, vectors: 1, joins: true, ..plain() }
}

/// Several warps, blocks of a cluster, blocks that stay, and both.
fn schedules() -> [Sm80Schedule; 6] {
    let shared = Sm80Schedule { threads_per_row: 64, rows_per_block: 1, cluster: 2, ..joins() };
    [
        joins(),
        Sm80Schedule { threads_per_row: 64, rows_per_block: 1, vectors: 2, keep: Keep::Inputs, ..joins() },
        Sm80Schedule { rows_per_block: 1, blocks_per_sm: 1, ..joins() },
        shared,
        Sm80Schedule { cluster: 4, blocks_per_sm: 1, ..shared },
        // More warps than lanes.
        Sm80Schedule { threads_per_row: 256, cluster: 8, vector: 4, ..shared },
    ]
}

fn compiled(compiler: &Compiler, source: &str, ty: &str, schedule: Sm80Schedule) -> Option<(Compiled, u32)> {
    let problem = typed(source, ty);
    let arch = autokernel_codegen::arch::Arch::SM_90A;
    schedule.check(&problem.class(), arch).ok()?;
    Some((Compiled::new(compiler, &problem, &schedule), schedule.held_columns()))
}

#[test]
fn joined_reductions_are_right_by_every_kind_of_schedule_held_and_read_again() {
    let test = "joined_reductions_are_right_by_every_kind_of_schedule_held_and_read_again";
    let Some(compiler) = Compiler::find(test) else { return };
    let mut checked = 0;
    for (turn, (source, ty)) in SOURCES.into_iter().enumerate() {
        for schedule in sample(schedules(), 3, turn) {
            let Some((compiled, held)) = compiled(&compiler, source, ty, schedule) else { continue };
            // Of the widest what is held and what is not.
            let most = if held > 4096 { held + 8 } else { 2 * held + 8 };
            for columns in [0, 1, 7, held / 2, held, held + 1, most] {
                compiled.check(5, columns, Data { seed: columns.into(), ..Data::default() });
                let data = Data { seed: columns.into(), padding: [1, 0, 3], skew: [3, 0, 1], ..Data::default() };
                compiled.check(3, columns, data);
                checked += 1;
            }
        }
    }
    assert!(checked >= share(150, 3), "{checked} were checked");
}

#[test]
fn rows_of_infinities_and_of_no_numbers_give_what_two_passes_give() {
    let Some(compiler) = Compiler::find("rows_of_infinities_and_of_no_numbers_give_what_two_passes_give") else {
        return;
    };
    let mut checked = 0;
    for (turn, (source, ty)) in SOURCES.into_iter().enumerate() {
        for schedule in sample(schedules(), 3, turn) {
            let Some((compiled, held)) = compiled(&compiler, source, ty, schedule) else { continue };
            let count = u32::try_from(ROWS.len()).unwrap();
            for columns in [3, held.min(1000), held + 24, held + 3] {
                let data = Data { seed: columns.into(), of_rows: ROWS, ..Data::default() };
                compiled.check(count, columns, data);
            }
            // Further values beside those, wherever they come to lie.
            for special in [f64::NAN, INF, -INF] {
                compiled.check(count, 300, Data { special: Some(special), of_rows: ROWS, ..Data::default() });
                checked += 1;
            }
        }
    }
    assert!(checked >= share(75, 3), "{checked} were checked");
}

#[test]
fn joined_reductions_give_the_same_bits_in_every_order_of_events() {
    let Some(compiler) = Compiler::find("joined_reductions_give_the_same_bits_in_every_order_of_events") else {
        return;
    };
    for (source, ty) in [(SOFTMAX, "f32"), (MOMENTS, "f32")] {
        for schedule in schedules() {
            let Some((compiled, held)) = compiled(&compiler, source, ty, schedule) else { continue };
            for columns in [held - 3, held + 40] {
                let bits = |order| compiled.outputs(5, columns, Data { seed: 7, ..Data::default() }, order);
                assert!((1..4).all(|order| bits(order) == bits(0)), "{schedule} of {columns}");
            }
        }
    }
}

#[test]
fn a_joined_maximum_and_mean_have_the_bits_that_they_have_by_themselves() {
    let test = "a_joined_maximum_and_mean_have_the_bits_that_they_have_by_themselves";
    let Some(compiler) = Compiler::find(test) else { return };
    for (source, ty) in [(LOGARITHM, "f32"), (MOMENTS, "f32")] {
        for schedule in [joins(), Sm80Schedule { cluster: 2, rows_per_block: 1, ..joins() }] {
            let apart = Sm80Schedule { joins: false, ..schedule };
            let [(joined, held), (apart, _)] = [schedule, apart].map(|it| compiled(&compiler, source, ty, it).unwrap());
            for columns in [held, held + 17] {
                let first =
                    |of: &Compiled| of.outputs(4, columns, Data { seed: 3, ..Data::default() }, 1).swap_remove(0);
                assert_eq!(first(&joined), first(&apart), "{schedule} of {columns}");
            }
        }
    }
}

/// Changes of `rows_joined.cuh`, each with a body that they make wrong.
const MUTANTS: [(&str, &str, &str); 7] = [
    (SOFTMAX, "return sum * fast_math::exp(from.first - reference(to));", "return sum;"),
    (SOFTMAX, "return seen.first == kNone ? 0.0f : seen.first;", "return seen.first;"),
    (EXPONENTIALS, "return columns > 0 && max == kNone ? __int_as_float(0x7fffffff) : sum;", "return sum;"),
    (EXPONENTIALS, "if (all == kNone) return __int_as_float(0x7fffffff);", ""),
    (EXPONENTIALS, "return fast_math::exp2(power) * fmaf(rest, kLn2, 1.0f);", "return 1.0f;"),
    (MOMENTS, "fmaf(from.count * apart, apart, sum) : sum", "sum : sum"),
    (MOMENTS, "count += span.is_inside ? float(kVector) : 0.0f;", "count += float(kVector);"),
];

#[test]
fn a_mutant_of_the_joined_reductions_is_wrong_somewhere() {
    let Some(compiler) = Compiler::find("a_mutant_of_the_joined_reductions_is_wrong_somewhere") else { return };
    for (source, before, after) in MUTANTS {
        let change = Change { file: "rows_joined.cuh", before, after };
        let compiled = Compiled::changed(&compiler, &typed(source, "f32"), &joins(), change);
        let is_right = [100, 700, 1500].into_iter().all(|columns| {
            let data = Data { seed: columns.into(), of_rows: ROWS, ..Data::default() };
            let check = || compiled.check(u32::try_from(ROWS.len()).unwrap(), columns, data);
            catch_unwind(AssertUnwindSafe(check)).is_ok()
        });
        assert!(!is_right, "nothing was wrong with `{after}` in the place of `{before}`");
    }
}
