//! Row-wise kernels that write 8-bit floats and whole numbers of 8 bits: ragged widths, any alignment, what saturates, on GPUs that have instructions for it and on
//! those that have none.

use crate::support::compile::Compiler;
use crate::support::rows::{Compiled, Data, check_every_kind, check_every_type, plain, problem};
use autokernel_codegen::rows::Sm80Schedule;

/// A norm whose result leaves in 8 bits, with the scale of each row.
const QUANTISED_NORM: &str =
    "fn norm(x: &Matrix<TYPE>, weight: &Row<f32>, scale: &mut Column<f32>, out: &mut Matrix<e4m3>) {
    let y = x / (row_mean(x * x) + 1e-6).sqrt() * weight;
    let largest = row_max(y.abs()).max(1e-12) / 448.0;
    scale = largest;
    out = y / largest;
}";

/// Beside the same in more bits.
const TWICE: &str =
    "fn twice(x: &Matrix<TYPE>, scale: &Column<f32>, wide: &mut Matrix<TYPE>, narrow: &mut Matrix<e5m2>) {
    let y = x * scale;
    wide = y;
    narrow = y * 1000.0;
}";

/// Weights with a scale for each row, beside 8-bit floats.
const WHOLE: &str =
    "fn whole(x: &Matrix<TYPE>, scale: &mut Column<f32>, out: &mut Matrix<i8>, other: &mut Matrix<e4m3>) {
    let largest = row_max(x.abs()).max(1e-12) / 127.0;
    scale = largest;
    out = x / largest;
    other = x;
}";

const WHOLE_CAST: &str = "fn cast(x: &Matrix<f32>, out: &mut Matrix<i8>) {
    out = x;
}";

const CAST: &str = "fn cast(x: &Matrix<f32>, out: &mut Matrix<e4m3>, wide: &mut Matrix<e5m2>) {
    out = x;
    wide = x;
}";

#[test]
fn eight_bit_outputs_are_right_at_every_width_wherever_rows_begin() {
    let Some(compiler) = Compiler::find("eight_bit_outputs_are_right_at_every_width_wherever_rows_begin") else {
        return;
    };
    check_every_type(&compiler, &[QUANTISED_NORM, TWICE], 3, [1, 7, 8, 64, 257, 1000]);
}

#[test]
fn eight_bit_outputs_are_right_by_every_kind_of_schedule_and_by_the_reference() {
    let test = "eight_bit_outputs_are_right_by_every_kind_of_schedule_and_by_the_reference";
    let Some(compiler) = Compiler::find(test) else { return };
    check_every_kind(&compiler, [(QUANTISED_NORM, "bf16"), (TWICE, "f16"), (QUANTISED_NORM, "f32")]);
}

/// What is rounded and stays a float.
const ROUNDED: &str = "fn rounded(x: &Matrix<TYPE>, out: &mut Matrix<f32>) {
    out = (x * 4.0).round_ties_even() / 4.0;
}";

#[test]
fn whole_numbers_are_right_at_every_width_and_by_every_kind_of_schedule() {
    let Some(compiler) = Compiler::find("whole_numbers_are_right_at_every_width_and_by_every_kind_of_schedule") else {
        return;
    };
    check_every_type(&compiler, &[WHOLE], 3, [1, 7, 8, 64, 257, 1000]);
    check_every_kind(&compiler, [(WHOLE, "bf16"), (ROUNDED, "f16"), (WHOLE, "f32")]);
}

#[test]
fn whole_numbers_are_rounded_to_even_saturate_and_are_0_of_what_is_no_number() {
    let Some(compiler) = Compiler::find("whole_numbers_are_rounded_to_even_saturate_and_are_0_of_what_is_no_number")
    else {
        return;
    };
    let values = [0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, -128.5, -129.0, 1e30, -1e30, 3e9, f64::NAN];
    let others = [f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-40];
    for schedule in [plain(), Sm80Schedule { cluster: 1, ..plain() }] {
        let compiled = Compiled::new(&compiler, &problem(WHOLE_CAST), &schedule);
        for (seed, special) in (0..).zip(values.into_iter().chain(others)) {
            compiled.check(9, 520, Data { seed, special: Some(special), ..Data::default() });
        }
    }
}

/// Both conversions, of sm_80 by bits and of Hopper by an instruction.
#[test]
fn what_saturates_what_is_tiny_and_what_is_no_number_is_as_documented_on_every_gpu() {
    let test = "what_saturates_what_is_tiny_and_what_is_no_number_is_as_documented_on_every_gpu";
    let Some(compiler) = Compiler::find(test) else { return };
    let ties = [
        17.0,
        19.0,
        464.0,
        464.000_03,
        2f64.powi(-10),
        3.0 * 2f64.powi(-10),
        7.5 * 2f64.powi(-9),
        1.5 * 2f64.powi(-17),
    ];
    let others = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e30, -57_345.0, 65_536.0, 1e-40, -1e-6];
    for schedule in [plain(), Sm80Schedule { cluster: 1, ..plain() }] {
        let compiled = Compiled::new(&compiler, &problem(CAST), &schedule);
        for (seed, special) in (0..).zip(ties.into_iter().chain(others)) {
            compiled.check(9, 520, Data { seed, special: Some(special), ..Data::default() });
        }
    }
}
