//! What a body reads and writes, row by row.

use autokernel_ops::body::Reduction;
use autokernel_ops::rows::Kind;

use super::elements::Elements;
use super::fold::Fold;
use super::input::{Fetched, Input};
use super::output::Output;
use super::picks::{Pick, Picked};
use super::span;
use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::{Argument, Error, Result};

/// A row by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number.
    pub row: usize,
    /// How many rows there are.
    pub rows: usize,
}

/// Computes the row of that number. Inputs and outputs are in the order of the signature, and behind the inputs what indices pick
/// of those that are read so; each is as long as a row, or of one element where it has one a row or is a scalar.
pub type RowFunction = fn(Place, &[&[f32]], &mut [&mut [f32]]);

/// Elements below which a share of the rows is not divided further.
pub(super) const SHARE: usize = 1 << 14;

pub(super) fn refused(reason: &str) -> Error {
    Error::Operands { kernel: "rows".to_owned(), reason: reason.to_owned() }
}

pub(super) fn unfitting() -> Error {
    refused("their shapes do not fit each other")
}

/// Which axes of an operand are its own.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub rows: bool,
    pub columns: bool,
}

/// What is read and written, in order.
pub(super) struct Operands<'a> {
    rows: usize,
    columns: usize,
    inputs: Vec<Input<'a>>,
    outputs: Vec<Output<'a>>,
    /// What each operand is, in order.
    added: Vec<Added<'a>>,
}

/// What an operand is.
#[derive(Clone, Copy)]
enum Added<'a> {
    /// Elements of a matrix, or of what counts as one.
    Read {
        elements: Elements<'a>,
        layout: Layout,
        kind: Kind,
    },
    /// The output with that number.
    Written(usize),
    Number,
}

impl<'a> Operands<'a> {
    /// None yet, of matrices of so many rows and columns.
    pub(super) fn of_rows(rows: usize, columns: usize) -> Self {
        Operands { rows, columns, inputs: Vec::new(), outputs: Vec::new(), added: Vec::new() }
    }

    /// The next one.
    pub(super) fn add(&mut self, argument: &'a mut Argument<'_>, kind: Kind) -> Result<()> {
        self.add_own(argument, kind, Own { rows: false, columns: false })
    }

    /// The next one, which may have axes of its own.
    pub(super) fn add_own(&mut self, argument: &'a mut Argument<'_>, kind: Kind, own: Own) -> Result<()> {
        let layout @ Layout { rows: given_rows, columns: given_columns, .. } = argument.layout();
        let rows = if own.rows { span::rows(layout, kind) } else { self.rows };
        let columns = if own.columns { given_columns } else { self.columns };
        let expected = match kind {
            Kind::Matrix => (rows, columns),
            Kind::Row => (1, columns),
            Kind::Column | Kind::Index => (1, rows),
            Kind::Scalar | Kind::DeviceScalar => (1, 1),
        };
        if (given_rows, given_columns) != expected {
            return Err(unfitting());
        }
        self.push(argument, kind, own.rows || own.columns, columns)
    }

    /// The next one, an output whose rows have an element for each block of so many columns.
    pub(super) fn add_scales(&mut self, argument: &'a mut Argument<'_>, block: usize) -> Result<()> {
        let Layout { rows, columns, .. } = argument.layout();
        if block == 0 || (rows, columns) != (self.rows, self.columns.div_ceil(block)) {
            return Err(unfitting());
        }
        self.push(argument, Kind::Matrix, false, columns)
    }

    /// The next one, whose rows have so many columns where it is written.
    fn push(&mut self, argument: &'a mut Argument<'_>, kind: Kind, is_fetched: bool, written: usize) -> Result<()> {
        let columns = self.columns;
        let added = match argument {
            Argument::Read(view) => {
                let (elements, layout) = Elements::of(view)?;
                // What is fetched has a place of its own, behind those of the operands.
                let own =
                    if is_fetched { Input::Constant(Vec::new()) } else { Input::new(elements, layout, kind, columns)? };
                self.inputs.push(own);
                Added::Read { elements, layout, kind }
            }
            Argument::Write(view) => {
                self.outputs.push(Output::new(view, kind, written)?);
                Added::Written(self.outputs.len() - 1)
            }
            Argument::Scalar(value) => {
                self.inputs.push(Input::Constant(vec![*value]));
                Added::Number
            }
        };
        self.added.push(added);
        Ok(())
    }

    /// Lets an index pick rows of an operand, both of which were added; none if they are not so.
    pub(super) fn pick(&mut self, Pick { operand, index, columns: moved }: Pick) -> Option<()> {
        let index = match index.map(|index| self.added.get(index)) {
            None => None,
            Some(Some(&Added::Read { elements: Elements::I32(index), .. })) => Some(index),
            Some(_) => return None,
        };
        match *self.added.get(operand)? {
            Added::Read { elements, layout, kind } => {
                let picked = index.map(|index| Picked { index, rows: span::rows(layout, kind) });
                let own = layout.columns;
                let (columns, ld) =
                    (span::width(kind, self.columns), if kind == Kind::Row { 0 } else { span::ld(layout, kind) });
                self.inputs.push(Input::Fetched(Fetched { elements, columns, ld, picked, moved, own }));
            }
            Added::Written(number) => {
                let output = self.outputs.get_mut(number)?;
                output.picked = index.map(|index| Picked { index, rows: output.rows });
            }
            Added::Number => return None,
        }
        Some(())
    }

    /// Lets outputs have what the values of all rows are reduced to.
    pub(super) fn fold(&mut self, folds: &[Option<Reduction>]) {
        for (output, fold) in self.outputs.iter_mut().zip(folds) {
            output.fold = fold.map(|fold| Fold::new(fold, output.columns));
        }
    }

    /// Computes every row.
    pub(super) fn compute(self, row: RowFunction) -> Result<()> {
        self.compute_from(0, row)
    }

    /// The same of rows whose numbers begin with `first`.
    pub(super) fn compute_from(self, first: usize, row: RowFunction) -> Result<()> {
        let Operands { rows, columns, inputs, outputs, .. } = self;
        if outputs.iter().all(Output::is_empty) {
            return Ok(());
        }
        let work = Work { inputs: &inputs, columns, first, rows, row };
        // Whoever computes a row may write any of such an output.
        if outputs.iter().any(|output| output.fold.is_some() || output.picked.is_some()) {
            return compute(&work, 0, rows, outputs);
        }
        share(&work, 0, rows, outputs)
    }
}

/// What is the same for all rows.
#[derive(Clone, Copy)]
struct Work<'w> {
    inputs: &'w [Input<'w>],
    columns: usize,
    /// The number of the first row.
    first: usize,
    /// How many rows there are.
    rows: usize,
    row: RowFunction,
}

/// Computes `rows` rows from row `first` on, into outputs that begin with it.
fn share(work: &Work<'_>, first: usize, rows: usize, outputs: Vec<Output<'_>>) -> Result<()> {
    if rows == 1 || rows.saturating_mul(work.columns) <= SHARE {
        return compute(work, first, rows, outputs);
    }
    let half = rows / 2;
    let (left, right) = outputs.into_iter().map(|output| output.split_at(half)).unzip();
    let (left, right) =
        rayon::join(|| share(work, first, half, left), || share(work, first + half, rows - half, right));
    left.and(right)
}

fn compute(work: &Work<'_>, first: usize, rows: usize, mut outputs: Vec<Output<'_>>) -> Result<()> {
    let Work { inputs, row, .. } = *work;
    let mut read = inputs.iter().map(|input| alloc::host_zeros(input.len())).collect::<Result<Vec<_>>>()?;
    let mut written =
        outputs.iter().map(|output| alloc::host_zeros(output.columns)).collect::<Result<Vec<Vec<f32>>>>()?;
    for number in 0..rows {
        read.iter_mut().zip(inputs).for_each(|(values, input)| input.read(first + number, values));
        let inputs: Vec<&[f32]> = read.iter().map(Vec::as_slice).collect();
        let place = Place { row: work.first + first + number, rows: work.rows };
        row(place, &inputs, &mut written.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        outputs.iter_mut().zip(&written).for_each(|(output, values)| output.write(number, values));
    }
    outputs.into_iter().for_each(Output::finish);
    Ok(())
}
