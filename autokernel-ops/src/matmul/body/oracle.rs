//! What a body gives, in fp64, and how far a kernel that computes in fp32 may be from it. For tests.

use std::collections::BTreeMap;

use super::{Body, Join};
use crate::body::{Columns, Fetch, Kind, Operand, Reduction, Step};
use crate::expr::ball::{Ball, eval};
use crate::expr::{Axis, Precision};
use crate::rows::oracle::reduce;

/// Where an element stands, and of how many rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its row and its column.
    pub at: (usize, usize),
    /// How many there are.
    pub of: (usize, usize),
}

/// The matrices' elements at their place, in the outputs' order, from its sum of each product and those sums' errors. `input`
/// gives an input's element by the operand's number. Of a body without partners.
pub fn element(body: &Body, place: Place, sums: &[Ball], input: &dyn Fn(usize) -> f64) -> Vec<Ball> {
    of_matrices(body, &names_of_element(body, place, sums, (BTreeMap::new(), &body.steps_of_elements()), input))
}

/// The same of all elements of row number `row`, from the sums of each. `input` gives an input's element by the operand's number and
/// the column; whoever knows the columns of what repeats repeats them.
pub fn elements(
    body: &Body,
    (row, rows): (usize, usize),
    sums: &[Vec<Ball>],
    input: &dyn Fn(usize, usize) -> f64,
) -> Vec<Vec<Ball>> {
    let place = |column| Place { at: (row, column), of: (rows, sums.len()) };
    let (of_elements, of_rotations) = (body.steps_of_elements(), body.steps_of_rotations());
    let names =
        |column: usize, given| names_of_element(body, place(column), &sums[column], given, &|at| input(at, column));
    let seen = |column: usize| {
        let of = |fetch: &'_ Fetch| match fetch.columns.at(column, sums.len()) {
            None => Ball::exact(f64::NAN),
            Some((partner, is_negated)) => {
                let Ball { value, error } = names(partner, (BTreeMap::new(), &of_rotations))[fetch.of.as_str()];
                Ball { value: if is_negated { -value } else { value }, error }
            }
        };
        body.rotations().map(|fetch| (fetch.name.as_str(), of(fetch))).collect()
    };
    (0..sums.len()).map(|column| of_matrices(body, &names(column, (seen(column), &of_elements)))).collect()
}

fn of_matrices(body: &Body, names: &BTreeMap<&str, Ball>) -> Vec<Ball> {
    body.matrices().map(|operand| names[operand.name.as_str()]).collect()
}

/// What is written of row number `row`, one number each, in the outputs' order, from the sums of its elements. `input` gives an
/// input's element by the operand's number and the column.
pub fn of_row(
    body: &Body,
    (row, rows): (usize, usize),
    sums: &[Vec<Ball>],
    input: &dyn Fn(usize, usize) -> f64,
) -> Vec<Ball> {
    let names = names_of_row(body, (row, rows), sums, input);
    let columns = body.outputs().filter(|operand| operand.kind == Kind::Column);
    columns.map(|operand| names[operand.name.as_str()]).collect()
}

/// What one number of each row comes to, in the outputs' order, from the sums of the elements of each row.
pub fn of_rows(body: &Body, sums: &[Vec<Vec<Ball>>], input: &dyn Fn(usize, usize, usize) -> f64) -> Vec<Ball> {
    let (rows, sums_of_rows) = (sums.iter().enumerate(), sums.len());
    let rows = rows.map(|(row, sums)| {
        names_of_row(body, (row, sums_of_rows), sums, &|operand, column| input(operand, row, column))
    });
    let rows: Vec<BTreeMap<&str, Ball>> = rows.collect();
    let folded =
        |(operand, how): (&Operand, Reduction)| reduce(how, rows.iter().map(|it| it[operand.name.as_str()]).collect());
    body.folds().map(folded).collect()
}

/// Every name of a row that its last steps give.
fn names_of_row<'b>(
    body: &'b Body,
    (row, rows): (usize, usize),
    sums: &[Vec<Ball>],
    input: &dyn Fn(usize, usize) -> f64,
) -> BTreeMap<&'b str, Ball> {
    let (elements, columns) = (sums.iter().enumerate(), sums.len());
    let elements = elements.map(|(column, sums)| {
        names_of_element(
            body,
            Place { at: (row, column), of: (rows, columns) },
            sums,
            (BTreeMap::new(), &body.steps_of_elements()),
            &|at| input(at, column),
        )
    });
    let elements: Vec<BTreeMap<&str, Ball>> = elements.collect();
    let inputs = body.operands().iter().enumerate().filter(|(_, operand)| !operand.kind.varies_along_row());
    let mut names: BTreeMap<&str, Ball> =
        inputs.map(|(at, operand)| (operand.name.as_str(), Ball::exact(input(at, 0)))).collect();
    names.insert(Axis::Row.call(), index(row));
    names.extend(extents((rows, columns)));
    let reduced = |(name, how)| (name, reduce(how, elements.iter().map(|names| names[name]).collect()));
    names.extend(body.reductions().map(reduced));
    let joined: Vec<_> =
        body.joins().iter().map(|join| (join.sum, of_joined(body, join, &elements, names[join.maximum]))).collect();
    names.extend(joined);
    evaluate(body, &body.steps_of_rows(), &mut names);
    names
}

/// A sum of exponentials relative to a maximum, which kernels compute by the short function whatever is written: what it is off by
/// where its argument is large is little of the sum.
fn of_joined(body: &Body, join: &Join<'_>, elements: &[BTreeMap<&str, Ball>], maximum: Ball) -> Ball {
    let term = join.term(MAXIMUM);
    let of = |names: &BTreeMap<&str, Ball>| {
        let value = |name: &str| if name == MAXIMUM { maximum } else { names[join.maximum] };
        eval(&term, Precision::Short, &value)
    };
    let reduction = body.reductions().find(|(name, _)| *name == join.sum).map_or(Reduction::Sum, |(_, how)| how);
    reduce(reduction, elements.iter().map(of).collect())
}

/// What stands for the maximum in a term; no name of a user's does.
const MAXIMUM: &str = "maximum of the row";

/// Every name of an element that those steps give, beside what it sees of partners: under that of a reduction its term.
fn names_of_element<'b>(
    body: &'b Body,
    Place { at: (row, column), of }: Place,
    sums: &[Ball],
    (partners, steps): (BTreeMap<&'b str, Ball>, &[&'b Step]),
    input: &dyn Fn(usize) -> f64,
) -> BTreeMap<&'b str, Ball> {
    let numbered = || body.operands().iter().enumerate();
    let mut names = partners;
    names.extend(numbered().map(|(at, operand)| (operand.name.as_str(), Ball::exact(input(at)))));
    let number = |fetch: &Fetch| numbered().find(|(_, operand)| operand.name == fetch.of).map(|(at, _)| at);
    let tables = body.fetches().filter(|fetch| fetch.columns == Columns::Repeat);
    names.extend(tables.filter_map(|fetch| Some((fetch.name.as_str(), Ball::exact(input(number(fetch)?))))));
    names.extend([(Axis::Row, row), (Axis::Column, column)].map(|(axis, number)| (axis.call(), index(number))));
    names.extend(extents(of));
    names.extend(body.sums().zip(sums.iter().copied()));
    evaluate(body, steps, &mut names);
    names
}

fn extents((rows, columns): (usize, usize)) -> [(&'static str, Ball); 2] {
    [(Axis::Row, rows), (Axis::Column, columns)].map(|(axis, count)| (axis.count_call(), index(count)))
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
