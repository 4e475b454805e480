//! Gradients held against central differences in fp64. For tests.

use std::collections::BTreeMap;

use autokernel_core::Role;

use super::names::name_of;
use crate::body::{Body, Kind};
use crate::rows::oracle;

/// How large matrices are, and what they hold.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Chooses the numbers.
    pub seed: u64,
}

/// The error beyond which a number may be of another branch than it seems.
const TOLD: f64 = 1e-3;
/// How near differences of two widths are, of their size, where they tell the gradient.
const ALIKE: f64 = 5e-5;
/// How far a gradient may then be from them.
const OFF: f64 = 5e-4;

/// The smaller width of differences.
const NARROW: f64 = 4e-3;

/// Elements by the operand's name, row by row.
pub(super) type Tensors = BTreeMap<String, Vec<f64>>;

impl Shape {
    fn len(self, kind: Kind) -> usize {
        match kind {
            Kind::Matrix => self.rows * self.columns,
            Kind::Row => self.columns,
            Kind::Column | Kind::Index => self.rows,
            Kind::Scalar | Kind::DeviceScalar => 1,
        }
    }

    fn place(self, kind: Kind, row: usize, column: usize) -> usize {
        match kind {
            Kind::Matrix => row * self.columns + column,
            Kind::Row => column,
            Kind::Column | Kind::Index => row,
            Kind::Scalar | Kind::DeviceScalar => 0,
        }
    }

    /// Numbers that no others equal, from -2 to 2; of an index those of rows.
    pub(super) fn numbers(self, kind: Kind, name: &str) -> Vec<f64> {
        let salt = name.bytes().fold(self.seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let number = |at: usize| {
            // SplitMix64.
            let mut bits = salt.wrapping_add((at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^= bits >> 31;
            if kind == Kind::Index {
                (bits % self.rows as u64) as f64
            } else {
                (bits >> 11) as f64 / (1u64 << 51) as f64 - 2.0
            }
        };
        (0..self.len(kind)).map(number).collect()
    }
}

/// What a body writes of `tensors`, in fp64; none of an element of which fp32 says nothing, as where a branch hangs on rounding.
pub(super) fn outputs(body: &Body, tensors: &Tensors, shape: Shape) -> BTreeMap<String, Vec<Option<f64>>> {
    let input = |at: usize, row: usize, column: usize| {
        let operand = &body.operands[at];
        let place = shape.place(operand.kind, row, column % shape.columns);
        tensors.get(&operand.name).and_then(|numbers| numbers.get(place)).copied().unwrap_or(f64::NAN)
    };
    let mut written: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut take = |values: Vec<Vec<oracle::Ball>>| {
        for (operand, values) in body.outputs().zip(values) {
            let values =
                values.into_iter().map(|ball| (ball.error <= TOLD * ball.value.abs().max(1.0)).then_some(ball.value));
            written.entry(operand.name.clone()).or_default().extend(values);
        }
    };
    if body.is_by_columns() {
        take(oracle::columns(body, shape.rows, shape.columns, &input));
    } else {
        (0..shape.rows).for_each(|row| take(oracle::row(body, row, (shape.rows, shape.columns), &input)));
    }
    written
}

/// What a body writes, each number by its gradient.
fn weighted(body: &Body, tensors: &Tensors, shape: Shape) -> Vec<f64> {
    let of_output = |(name, values): (String, Vec<Option<f64>>)| {
        let gradient = body.operand(&name).and_then(|operand| tensors.get(&name_of(operand)));
        let products = values.iter().zip(gradient.into_iter().flatten());
        products.map(|(value, by)| value.unwrap_or(f64::NAN) * by).collect::<Vec<_>>()
    };
    outputs(body, tensors, shape).into_iter().flat_map(of_output).collect()
}

/// What differences say of a gradient.
pub(super) enum Compared {
    /// Nothing: those of two widths are not alike.
    Untold,
    /// That it is so.
    Alike,
    /// That it is this.
    Off(f64),
}

/// Holds a gradient against central differences of the sum of what `moved_by` gives for a number that is moved by so much.
pub(super) fn compare(found: f64, moved_by: impl Fn(f64) -> Vec<f64>) -> Compared {
    let difference = |width: f64| {
        // Of the fourth order: wide enough that an `erf` of fp32's digits does not matter.
        let [near, far] = [width, 2.0 * width].map(|by| {
            // One by one, as a number that is large and stays has no part in it.
            moved_by(by).iter().zip(moved_by(-by)).map(|(more, less)| more - less).sum::<f64>()
        });
        (8.0 * near - far) / (12.0 * width)
    };
    let [wide, narrow] = [2.0 * NARROW, NARROW].map(difference);
    let size = wide.abs().max(1.0);
    if !wide.is_finite() || (wide - narrow).abs() > ALIKE * size {
        Compared::Untold
    } else if (found - narrow).is_nan() || (found - narrow).abs() > OFF * size {
        // A change is lost in what is 1e38.
        let is_lost = |value: &f64| value.abs() * f64::EPSILON > OFF * NARROW * size;
        if moved_by(0.0).iter().any(is_lost) { Compared::Untold } else { Compared::Off(narrow) }
    } else {
        Compared::Alike
    }
}

/// Holds the kernels of a body's gradients, in order, against differences: gives how many elements were compared. Where the function
/// has a corner, or is too steep, differences of two widths are not alike, and nothing is said.
///
/// # Errors
/// A report of the first element that is off.
pub fn check<'b>(body: &Body, kernels: impl IntoIterator<Item = &'b Body>, shape: Shape) -> Result<usize, String> {
    let inputs = body.operands.iter().filter(|operand| operand.role == Role::Input);
    let mut tensors: Tensors =
        inputs.map(|operand| (operand.name.clone(), shape.numbers(operand.kind, &operand.name))).collect();
    for operand in body.outputs() {
        let name = name_of(operand);
        tensors.insert(name.clone(), shape.numbers(operand.kind, &name));
    }
    let mut gradients = BTreeMap::new();
    for part in kernels {
        let written = outputs(part, &tensors, shape);
        // Numbers of a row that the second kernel takes are written by the first one.
        let known = written
            .iter()
            .map(|(name, values)| (name.clone(), values.iter().map(|it| it.unwrap_or(f64::NAN)).collect()));
        tensors.extend(known);
        gradients.extend(written);
    }
    let mut told = 0;
    let inputs: Vec<String> = body.operands.iter().map(|operand| operand.name.clone()).collect();
    for name in inputs {
        let Some(operand) = body.operand(&name).filter(|operand| operand.role == Role::Input) else { continue };
        let Some(gradient): Option<&Vec<Option<f64>>> = gradients.get(&name_of(operand)) else { continue };
        let is_told = |(at, found): (usize, &Option<f64>)| Some((at, (*found)?));
        for (at, found) in gradient.iter().enumerate().filter_map(is_told) {
            let moved_by = |by: f64| {
                let mut moved = tensors.clone();
                if let Some(number) = moved.get_mut(&name).and_then(|numbers| numbers.get_mut(at)) {
                    *number += by;
                }
                weighted(body, &moved, shape)
            };
            match compare(found, moved_by) {
                Compared::Untold => continue,
                Compared::Alike => {}
                Compared::Off(narrow) => {
                    return Err(format!("{shape:?}: element {at} of d{name} is {found}, and by differences {narrow}"));
                }
            }
            told += 1;
        }
    }
    Ok(told)
}
