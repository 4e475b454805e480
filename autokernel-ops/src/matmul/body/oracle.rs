//! What a body gives, in fp64, and how far a kernel that computes in fp32 may be from it. For tests.

use std::collections::BTreeMap;

use super::Body;
use crate::body::{Kind, Step};
use crate::expr::Axis;
use crate::expr::ball::{Ball, eval};
use crate::rows::oracle::reduce;

/// The matrices' elements at (row, column), in the outputs' order, from its sum of each product and those sums' errors. `input`
/// gives an input's element by the operand's number.
pub fn element(body: &Body, place: (usize, usize), sums: &[Ball], input: &dyn Fn(usize) -> f64) -> Vec<Ball> {
    let names = names_of_element(body, place, sums, input);
    body.matrices().map(|operand| names[operand.name.as_str()]).collect()
}

/// What is written of row number `row`, one number each, in the outputs' order, from the sums of its elements. `input` gives an
/// input's element by the operand's number and the column.
pub fn of_row(body: &Body, row: usize, sums: &[Vec<Ball>], input: &dyn Fn(usize, usize) -> f64) -> Vec<Ball> {
    let elements = sums.iter().enumerate();
    let elements = elements.map(|(column, sums)| names_of_element(body, (row, column), sums, &|at| input(at, column)));
    let elements: Vec<BTreeMap<&str, Ball>> = elements.collect();
    let inputs = body.operands().iter().enumerate().filter(|(_, operand)| !operand.kind.varies_along_row());
    let mut names: BTreeMap<&str, Ball> =
        inputs.map(|(at, operand)| (operand.name.as_str(), Ball::exact(input(at, 0)))).collect();
    names.insert(Axis::Row.call(), index(row));
    let reduced = |(name, how)| (name, reduce(how, elements.iter().map(|names| names[name]).collect()));
    names.extend(body.reductions().map(reduced));
    evaluate(body, &body.steps_of_rows(), &mut names);
    let columns = body.outputs().filter(|operand| operand.kind == Kind::Column);
    columns.map(|operand| names[operand.name.as_str()]).collect()
}

/// Every name of an element: under that of a reduction its term.
fn names_of_element<'b>(
    body: &'b Body,
    (row, column): (usize, usize),
    sums: &[Ball],
    input: &dyn Fn(usize) -> f64,
) -> BTreeMap<&'b str, Ball> {
    let inputs =
        body.operands().iter().enumerate().map(|(at, operand)| (operand.name.as_str(), Ball::exact(input(at))));
    let mut names: BTreeMap<&str, Ball> = inputs.collect();
    names.extend([(Axis::Row, row), (Axis::Column, column)].map(|(axis, number)| (axis.call(), index(number))));
    names.extend(body.sums().zip(sums.iter().copied()));
    evaluate(body, &body.steps_of_elements(), &mut names);
    names
}

/// As an `f32` holds it.
fn index(number: usize) -> Ball {
    Ball::exact(f64::from(number as f32))
}

fn evaluate<'b>(body: &Body, steps: &[&'b Step], names: &mut BTreeMap<&'b str, Ball>) {
    for step in steps {
        let value =
            eval(step.expr(), body.precision(), &|name| names.get(name).copied().unwrap_or(Ball::exact(f64::NAN)));
        names.insert(step.name(), value);
    }
}
