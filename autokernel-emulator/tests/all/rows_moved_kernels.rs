//! Elements of other columns: both pairings of a rotation and tables that repeat, against fp64, at widths where the last head is
//! part-filled and wherever operands lie.

use crate::support::compile::Compiler;
use crate::support::rows::{check_every_kind, check_every_type};

const HALVES: &str = "fn halves(
    x: &Matrix<TYPE>, cosines: &Matrix<TYPE>, sines: &Matrix<f32>, positions: &Index, out: &mut Matrix<TYPE>
) {
    out = x * repeat_columns(cosines[positions]) + rotate_half(x, 16) * repeat_columns(sines[positions]);
}";

const PAIRS: &str = "fn pairs(
    x: &Matrix<TYPE>, weight: &Row<TYPE>, table: &Matrix<TYPE>, at: &Index, out: &mut Matrix<TYPE>, sum: &mut Column<f32>
) {
    let size = row_mean(x * x) + 1e-5;
    sum = size;
    out = x * weight + rotate_pairs(x) * rotate_pairs(weight) / size + rotate_pairs(table[at]);
}";

const NARROW: &str = "fn narrow(x: &Matrix<TYPE>, period: &Row<f32>, out: &mut Matrix<f32>) {
    out = rotate_half(x, 2) * repeat_columns(period) + rotate_half(x, 6);
}";

#[test]
fn rotations_and_repeated_tables_of_every_type_are_right_wherever_they_lie() {
    let test = "rotations_and_repeated_tables_of_every_type_are_right_wherever_they_lie";
    let Some(compiler) = Compiler::find(test) else { return };
    check_every_type(&compiler, &[HALVES, PAIRS, NARROW], 5, [1, 7, 16, 250, 512, 700]);
}

#[test]
fn columns_are_moved_by_every_kind_of_schedule_and_by_the_reference() {
    let test = "columns_are_moved_by_every_kind_of_schedule_and_by_the_reference";
    let Some(compiler) = Compiler::find(test) else { return };
    check_every_kind(&compiler, [(HALVES, "f16"), (PAIRS, "bf16"), (NARROW, "bf16")]);
}
