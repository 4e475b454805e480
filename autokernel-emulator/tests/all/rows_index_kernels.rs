//! Rows that an index picks: no access outside of an operand, whatever the index holds, and everything against fp64.

use crate::support::compile::Compiler;
use crate::support::rows::{check_every_kind, check_every_type};

const GATHER: &str = "fn gather(
    table: &Matrix<TYPE>, scales: &Column<f32>, ids: &Index, skip: &Matrix<TYPE>, out: &mut Matrix<TYPE>
) {
    out = if ids >= 0.0 { table[ids] * scales[ids] } else { 0.0 } + skip;
}";

const NORM: &str = "fn norm(
    table: &Matrix<TYPE>, weight: &Row<f32>, ids: &Index, others: &Index, out: &mut Matrix<f32>, sum: &mut Column<f32>
) {
    let y = table[ids] - table[others];
    let mean = row_mean(y * y);
    sum = mean;
    out = y / (mean + 1e-5).sqrt() * weight;
}";

const SCATTER: &str = "fn scatter(
    x: &Matrix<TYPE>, slots: &Index, cache: &mut Matrix<TYPE>, most: &mut Column<f32>, out: &mut Matrix<TYPE>
) {
    cache[slots] = x;
    most[slots] = row_max(x);
    out = 2.0 * x;
}";

const MOVE: &str =
    "fn permute(x: &Matrix<TYPE>, from: &Index, to: &Index, out: &mut Matrix<TYPE>) { out[to] = x[from]; }";

#[test]
fn gathered_and_scattered_rows_of_every_type_are_right_wherever_they_lie() {
    let test = "gathered_and_scattered_rows_of_every_type_are_right_wherever_they_lie";
    let Some(compiler) = Compiler::find(test) else { return };
    check_every_type(&compiler, &[GATHER, NORM, SCATTER, MOVE], 6, [1, 7, 8, 250, 512, 700]);
}

#[test]
fn rows_are_picked_by_every_kind_of_schedule_and_by_the_reference() {
    let test = "rows_are_picked_by_every_kind_of_schedule_and_by_the_reference";
    let Some(compiler) = Compiler::find(test) else { return };
    check_every_kind(&compiler, [(GATHER, "f16"), (NORM, "bf16"), (SCATTER, "bf16")]);
}
