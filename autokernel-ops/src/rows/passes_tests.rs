use expect_test::{Expect, expect};

use super::*;
use crate::rows::cases;

/// The passes, in a form that a reader can check.
fn text(program: &Program) -> String {
    use crate::expr::cuda::Spelling;
    use std::fmt::Write;
    let mut text = String::new();
    for at in 0..program.between.len() {
        for step in &program.between[at] {
            match step {
                RowStep::Value { name, value } => writeln!(text, "row {name} = {}", Spelling::Exact.number(value)),
                RowStep::Divisor { name, value } => {
                    writeln!(text, "row {name} divides by {}", Spelling::Exact.number(value))
                }
                RowStep::Store { output, value } => {
                    writeln!(text, "row writes {output}: {}", Spelling::Exact.number(value))
                }
            }
            .unwrap();
        }
        let Some(pass) = program.passes.get(at) else { continue };
        writeln!(text, "pass {at} reads {:?} and rows {:?}", pass.held.matrices, pass.held.rows).unwrap();
        for (name, source) in &pass.held.values {
            match source {
                Source::Kept => writeln!(text, "  {name} was kept"),
                Source::Computed(expr) => writeln!(text, "  {name} = {}", Spelling::Exact.number(expr)),
            }
            .unwrap();
        }
        if !pass.held.keeps.is_empty() {
            writeln!(text, "  keeps {:?}", pass.held.keeps).unwrap();
        }
        for (name, reduction, expr) in &pass.reduces {
            writeln!(text, "  {name} = {} of {}", reduction.name(), Spelling::Exact.number(expr)).unwrap();
        }
        for (name, expr) in &pass.stores {
            writeln!(text, "  writes {name}: {}", Spelling::Exact.number(expr)).unwrap();
        }
    }
    text
}

fn check(body: &Body, keep: Keep, expected: Expect) {
    expected.assert_eq(&text(&Program::new(body, keep)));
}

#[test]
fn softmax_takes_three_passes_and_keeps_its_exponentials() {
    check(
        &cases::softmax(),
        Keep::Values,
        expect![[r#"
        pass 0 reads ["x"] and rows []
          max_ = row_max of x_
        pass 1 reads ["x"] and rows []
          e_ = autokernel::math::exp((x_ - row.max_))
          keeps ["e_"]
          sum_ = row_sum of e_
        row divisor0 divides by row.sum_
        pass 2 reads [] and rows []
          e_ was kept
          writes out: (e_ / row.divisor0)
    "#]],
    );
}

#[test]
fn softmax_may_compute_its_exponentials_again() {
    check(
        &cases::softmax(),
        Keep::Inputs,
        expect![[r#"
        pass 0 reads ["x"] and rows []
          max_ = row_max of x_
        pass 1 reads ["x"] and rows []
          e_ = autokernel::math::exp((x_ - row.max_))
          sum_ = row_sum of e_
        row divisor0 divides by row.sum_
        pass 2 reads ["x"] and rows []
          e_ = autokernel::math::exp((x_ - row.max_))
          writes out: (e_ / row.divisor0)
    "#]],
    );
}

#[test]
fn add_rms_norm_writes_the_sum_in_the_pass_that_reduces_it() {
    check(
        &cases::add_rms_norm(),
        Keep::Values,
        expect![[r#"
        pass 0 reads ["x", "skip"] and rows []
          y_ = (x_ + skip_)
          keeps ["y_"]
          squares_ = row_mean of (y_ * y_)
          writes sum: y_
        row divisor0 divides by autokernel::math::sqrt((row.squares_ + 1e-6f))
        pass 1 reads [] and rows ["weight"]
          y_ was kept
          writes out: ((y_ / row.divisor0) * weight_)
    "#]],
    );
}

#[test]
fn independent_reductions_share_a_pass_and_columns_are_written_between_passes() {
    check(
        &cases::statistics(),
        Keep::Values,
        expect![[r#"
        pass 0 reads ["x"] and rows []
          low_ = row_min of x_
          high_ = row_max of x_
          total_ = row_sum of (x_ * row.scale_)
        row writes least: row.low_
        row writes span: (row.high_ - row.low_)
        row writes sum: row.total_
    "#]],
    );
}
