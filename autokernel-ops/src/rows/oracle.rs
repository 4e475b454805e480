//! What a body gives, in fp64, and how far a kernel that computes in fp32 may be from it: the error of each operation is
//! carried through the expressions, so that the tolerance is the body's own. For tests.

use std::collections::BTreeMap;

use autokernel_core::Role;

use crate::body::{Body, Columns, Fetch, Kind, Operand, Reduction, Step};
pub use crate::expr::ball::Ball;
use crate::expr::ball::eval;
use crate::expr::{Axis, BinaryOp};

/// Additions behind each other in a sum, however it is split: the longest chain of any schedule and width tested.
const CHAIN: f64 = 64.0;
/// The rounding of one addition.
const UNIT: f64 = 1.0 / (1 << 24) as f64;

/// The `f32` from which `value` rounds to any narrower type as it would by itself: inexact values become odd ones, which are
/// no ties (S. Boldo and G. Melquiond, "When double rounding is odd", 2005).
pub fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) == value || near.to_bits() & 1 == 1 || !near.is_finite() {
        return near;
    }
    let away = value.abs() > f64::from(near).abs();
    f32::from_bits(if away { near.to_bits() + 1 } else { near.to_bits() - 1 })
}

enum Values {
    OfRow(Ball),
    OfElements(Vec<Ball>),
}

impl Values {
    fn at(&self, column: usize) -> Ball {
        match self {
            Values::OfRow(value) => *value,
            Values::OfElements(values) => values[column],
        }
    }
}

/// The outputs of the row of that number, in the order of the outputs: an element for each column of a matrix, one of a column.
/// `input` gives an input's element by the operand's number, the operand's row, and the column, and no number where it has no
/// such row; what has one element a row has it in column 0, and of an operand whose columns repeat any column is asked for.
pub fn row(
    body: &Body,
    number: usize,
    (rows, columns): (usize, usize),
    input: &dyn Fn(usize, usize, usize) -> f64,
) -> Vec<Vec<Ball>> {
    let mut names: BTreeMap<&str, Values> = BTreeMap::new();
    for (at, operand) in body.operands.iter().enumerate().filter(|(_, operand)| operand.role == Role::Input) {
        let row = match operand.kind {
            Kind::Matrix | Kind::Column | Kind::Index => number,
            Kind::Row | Kind::Scalar | Kind::DeviceScalar => 0,
        };
        names.insert(&operand.name, values_at(operand.kind, columns, |column| input(at, row, column)));
    }
    for Fetch { name, of, row, columns: moved } in &body.fetches {
        let at = |name: &str| body.operands.iter().position(|operand| operand.name == name);
        let Some(at_operand) = at(of) else { continue };
        let kind = body.operands[at_operand].kind;
        let row = match row.as_deref().and_then(at).map(|index| input(index, number, 0)) {
            Some(picked) if picked >= 0.0 => picked as usize,
            Some(_) => usize::MAX,
            None if kind == Kind::Row => 0,
            None => number,
        };
        let element = |column| match moved {
            // Whoever knows its columns repeats them.
            Columns::Repeat => input(at_operand, row, column),
            moved => moved.at(column, columns).map_or(f64::NAN, |(column, is_negated)| {
                let value = input(at_operand, row, column);
                if is_negated { -value } else { value }
            }),
        };
        names.insert(name, values_at(kind, columns, element));
    }
    // As an `f32` holds them.
    let index = |number: usize| Ball::exact(f64::from(number as f32));
    names.insert(Axis::Row.call(), Values::OfRow(index(number)));
    names.extend(
        [(Axis::Row, rows), (Axis::Column, columns)]
            .map(|(axis, count)| (axis.count_call(), Values::OfRow(index(count)))),
    );
    names.insert(Axis::Column.call(), Values::OfElements((0..columns).map(index).collect()));
    let mut outputs: BTreeMap<&str, Vec<Ball>> = BTreeMap::new();
    let precision = body.precision();
    for step in &body.steps {
        let of_row = !step.expr().has_index(Axis::Column)
            && step.expr().variables().iter().all(|name| matches!(names.get(name), Some(Values::OfRow(_)) | None));
        let at = |column| {
            eval(step.expr(), precision, &|name| names.get(name).map_or(Ball::exact(f64::NAN), |v| v.at(column)))
        };
        let (name, values) = match step {
            Step::Reduce { name, reduction, .. } => {
                (name, Values::OfRow(reduce(*reduction, (0..columns).map(at).collect())))
            }
            Step::Let { name, .. } if of_row => (name, Values::OfRow(at(0))),
            Step::Let { name, .. } => (name, Values::OfElements((0..columns).map(at).collect())),
            Step::Store { output, .. } => {
                let is_column = body.operand(output).is_some_and(|operand| operand.kind == Kind::Column);
                let written = if is_column { vec![at(0)] } else { (0..columns).map(at).collect() };
                outputs.insert(output, written);
                continue;
            }
        };
        names.insert(name, values);
    }
    body.outputs().map(|operand| outputs.remove(&*operand.name).unwrap_or_default()).collect()
}

/// The outputs of a body that reduces along the columns of so many rows, in their order: an element a column. `input` is as of
/// [`row`].
pub fn columns(body: &Body, rows: usize, columns: usize, input: &dyn Fn(usize, usize, usize) -> f64) -> Vec<Vec<Ball>> {
    let terms: Vec<Vec<Vec<Ball>>> = (0..rows).map(|number| row(body, number, (rows, columns), input)).collect();
    let fold = |(at, output): (usize, &Operand)| {
        let fold = body.fold_of(&output.name).unwrap_or(Reduction::Sum);
        let of_column = |column: usize| reduce(fold, terms.iter().map(|outputs| outputs[at][column]).collect());
        (0..columns).map(of_column).collect()
    };
    body.outputs().enumerate().map(fold).collect()
}

/// What an operand of that kind has of a row.
fn values_at(kind: Kind, columns: usize, element: impl Fn(usize) -> f64) -> Values {
    let element = |column| Ball::exact(element(column));
    if kind.varies_along_row() {
        Values::OfElements((0..columns).map(element).collect())
    } else {
        Values::OfRow(element(0))
    }
}

/// What a reduction makes of elements, in any order.
pub(crate) fn reduce(reduction: Reduction, elements: Vec<Ball>) -> Ball {
    if elements.iter().any(Ball::is_anything) {
        return Ball::ANYTHING;
    }
    match reduction {
        Reduction::Max => extreme(&elements, f64::NEG_INFINITY, f64::max),
        Reduction::Min => extreme(&elements, f64::INFINITY, f64::min),
        Reduction::Sum => sum(&elements),
        Reduction::Mean => Ball::binary(BinaryOp::Divide, sum(&elements), Ball::exact(elements.len() as f64)),
    }
}

fn extreme(elements: &[Ball], of_nothing: f64, of_two: fn(f64, f64) -> f64) -> Ball {
    let held = || elements.iter().map(|ball| ball.held());
    let value = held().map(|ball| ball.value).fold(of_nothing, of_two);
    let error = if value.is_finite() { held().map(|ball| ball.error).fold(0.0, f64::max) } else { 0.0 };
    Ball { value, error }
}

fn sum(elements: &[Ball]) -> Ball {
    let held: f64 = elements.iter().map(|ball| ball.held().value).sum();
    let finite = || elements.iter().filter(|ball| ball.value.is_finite());
    let (sum, sizes): (f64, f64) = (finite().map(|ball| ball.value).sum(), finite().map(|ball| ball.value.abs()).sum());
    let errors: f64 = elements.iter().map(|ball| ball.error).sum();
    // A part of the sum may be infinite where the whole is not, or is of the other sign.
    let may_overflow = sizes > f64::from(f32::MAX) && (sum.abs() < sizes || held == -f64::INFINITY.copysign(sum));
    match held.is_finite() {
        _ if elements.iter().any(|ball| ball.value.is_nan()) => Ball::exact(f64::NAN),
        _ if may_overflow => Ball::ANYTHING,
        true => Ball::rounded(sum, errors + CHAIN * UNIT * sizes),
        false => Ball::exact(held),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::cases;

    #[test]
    fn softmax_sums_to_one_within_an_error_that_is_small() {
        let out = row(&cases::softmax(), 0, (1, 100), &|_, _, column| f64::from(column as u32 % 7) - 3.0).remove(0);
        let sum: f64 = out.iter().map(|ball| ball.value).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        assert!(out.iter().all(|ball| ball.error < 2e-5 * ball.value), "{:?}", out[0]);
    }

    #[test]
    fn a_nan_goes_where_the_body_sends_it() {
        let out = row(&cases::softmax(), 0, (1, 3), &|_, _, column| if column == 1 { f64::NAN } else { 1.0 });
        assert!(out[0].iter().all(|ball| ball.value.is_nan()));
        let statistics =
            row(&cases::statistics(), 0, (1, 3), &|at, _, column| if (at, column) == (0, 1) { f64::NAN } else { 1.0 });
        assert_eq!((statistics[0][0].value, statistics[1][0].value), (1.0, 0.0));
        assert!(statistics[2][0].value.is_nan());
    }
}
