//! What a body gives, in fp64, and how far a kernel that computes in fp32 may be from it. For tests.

use std::collections::BTreeMap;

use super::Body;
use crate::body::Step;
use crate::expr::Axis;
use crate::expr::ball::{Ball, eval};

/// The outputs of the element at (row, column), in their order, from its sum of each product and those sums' errors. `input`
/// gives an input's element by the operand's number.
pub fn element(body: &Body, (row, column): (usize, usize), sums: &[Ball], input: &dyn Fn(usize) -> f64) -> Vec<Ball> {
    let inputs =
        body.operands().iter().enumerate().map(|(at, operand)| (operand.name.as_str(), Ball::exact(input(at))));
    let mut names: BTreeMap<&str, Ball> = inputs.collect();
    // As an `f32` holds them.
    let indices = [(Axis::Row, row), (Axis::Column, column)];
    names.extend(indices.map(|(axis, number)| (axis.call(), Ball::exact(f64::from(number as f32)))));
    names.extend(body.sums().zip(sums.iter().copied()));
    for step in body.steps() {
        let value =
            eval(step.expr(), body.precision(), &|name| names.get(name).copied().unwrap_or(Ball::exact(f64::NAN)));
        match step {
            Step::Let { name, .. } => names.insert(name, value),
            Step::Store { output, .. } => names.insert(output, value),
            Step::Reduce { .. } => None,
        };
    }
    body.outputs().map(|operand| names[operand.name.as_str()]).collect()
}
