//! Row-wise kernels on the CPU: each row is widened to `f32`, computed by the body's own Rust, and rounded once. Rows are
//! shared out to the threads of rayon's pool.

use autokernel_ops::body::Reduction;
use autokernel_ops::rows::Kind;

use super::elements::{Elements, ElementsMut};
use super::fold::Fold;
use super::picks::{Columns, Pick, Picked};
use crate::layout::Layout;
use crate::{AnyViewMut, Argument, Error, Result, alloc};

/// Computes the row of that number. Inputs and outputs are in the order of the signature, and behind the inputs what indices pick
/// of those that are read so; each is as long as a row, or of one element where it has one a row or is a scalar.
pub type RowFunction = fn(usize, &[&[f32]], &mut [&mut [f32]]);

/// Elements below which a share of the rows is not divided further.
const SHARE: usize = 1 << 14;

/// Computes every row of the outputs among `arguments`, which are in host memory and indexed as `kinds` say, by `row`. Indices
/// pick rows of some, as `picks` say; of rows that are written more than once the last stays. Of each output `folds` says how the
/// values of all rows are reduced to one a column, if they are.
///
/// # Errors
/// [`Error::Operands`] for other operands than `kinds` says, [`Error::DeviceMismatch`] for one that is on a GPU,
/// [`Error::OutOfMemory`].
pub fn rows(
    arguments: &mut [Argument<'_>],
    kinds: &[Kind],
    picks: &[Pick],
    folds: &[Option<Reduction>],
    row: RowFunction,
) -> Result<()> {
    let has = |number: usize, of_its_own: fn(&Pick) -> bool| {
        picks.iter().any(|pick| pick.operand == number && of_its_own(pick))
    };
    let numbered = || arguments.iter().zip(kinds).enumerate();
    let is_long = |number: usize, kind: Kind| kind == Kind::Matrix && !has(number, Pick::has_own_columns);
    let matrix = numbered().find(|(number, (_, kind))| is_long(*number, **kind));
    let (_, (matrix, _)) = matrix.ok_or_else(|| refused("none of them is a matrix"))?;
    let mut shared = numbered().filter(|(number, _)| !has(*number, Pick::has_own_rows));
    let rows = shared.find_map(|(_, (argument, kind))| match kind {
        Kind::Matrix => Some(argument.layout().rows),
        Kind::Column | Kind::Index => Some(argument.layout().columns),
        Kind::Row | Kind::Scalar | Kind::DeviceScalar => None,
    });
    let rows = rows.ok_or_else(unfitting)?;
    if arguments.len() != kinds.len() {
        return Err(unfitting());
    }
    let mut operands = Operands::of_rows(rows, matrix.layout().columns);
    for (number, (argument, kind)) in arguments.iter_mut().zip(kinds).enumerate() {
        let own = Own { rows: has(number, Pick::has_own_rows), columns: has(number, Pick::has_own_columns) };
        operands.add_own(argument, *kind, own)?;
    }
    picks.iter().try_for_each(|pick| operands.pick(*pick).ok_or_else(unfitting))?;
    operands.fold(folds);
    operands.compute(row)
}

fn refused(reason: &str) -> Error {
    Error::Operands { kernel: "rows".to_owned(), reason: reason.to_owned() }
}

fn unfitting() -> Error {
    refused("their shapes do not fit each other")
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
    fn add_own(&mut self, argument: &'a mut Argument<'_>, kind: Kind, own: Own) -> Result<()> {
        let layout @ Layout { rows: given_rows, columns: given_columns, .. } = argument.layout();
        let rows = if own.rows { rows_of(layout, kind) } else { self.rows };
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
        self.push(argument, kind, own.rows || own.columns)
    }

    fn push(&mut self, argument: &'a mut Argument<'_>, kind: Kind, is_fetched: bool) -> Result<()> {
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
                self.outputs.push(Output::new(view, kind, columns)?);
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
    fn pick(&mut self, Pick { operand, index, columns: moved }: Pick) -> Option<()> {
        let index = match index.map(|index| self.added.get(index)) {
            None => None,
            Some(Some(&Added::Read { elements: Elements::I32(index), .. })) => Some(index),
            Some(_) => return None,
        };
        match *self.added.get(operand)? {
            Added::Read { elements, layout, kind } => {
                let picked = index.map(|index| Picked { index, rows: rows_of(layout, kind) });
                let own = layout.columns;
                let (columns, ld) = (width(kind, self.columns), if kind == Kind::Row { 0 } else { ld(layout, kind) });
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
    fn fold(&mut self, folds: &[Option<Reduction>]) {
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
        let is_folded = outputs.iter().any(|output| output.fold.is_some());
        if rows == 0 && !is_folded {
            return Ok(());
        }
        let work = Work { inputs: &inputs, columns, first, row };
        // Whoever computes a row may write any of such an output.
        if is_folded || outputs.iter().any(|output| output.picked.is_some()) {
            return compute(&work, 0, rows, outputs);
        }
        share(&work, 0, rows, outputs)
    }
}

/// The rows of an operand of that kind.
const fn rows_of(layout: Layout, kind: Kind) -> usize {
    if matches!(kind, Kind::Matrix) { layout.rows } else { layout.columns }
}

/// Its elements in a row.
const fn width(kind: Kind, columns: usize) -> usize {
    if matches!(kind, Kind::Matrix | Kind::Row) { columns } else { 1 }
}

/// Elements from a row to the next.
const fn ld(layout: Layout, kind: Kind) -> usize {
    if matches!(kind, Kind::Matrix) { layout.ld } else { 1 }
}

/// Which axes of an operand are its own.
#[derive(Clone, Copy)]
struct Own {
    rows: bool,
    columns: bool,
}

/// What is the same for all rows.
#[derive(Clone, Copy)]
struct Work<'w> {
    inputs: &'w [Input<'w>],
    columns: usize,
    /// The number of the first row.
    first: usize,
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
        row(work.first + first + number, &inputs, &mut written.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        outputs.iter_mut().zip(&written).for_each(|(output, values)| output.write(number, values));
    }
    outputs.into_iter().for_each(Output::finish);
    Ok(())
}

/// What is read.
enum Input<'a> {
    /// The same for every row: a `Row`, or a number.
    Constant(Vec<f32>),
    /// A row, or one element, for each.
    Rows { elements: Elements<'a>, columns: usize, ld: usize },
    /// The same, of other rows or columns.
    Fetched(Fetched<'a>),
}

/// What is read elsewhere.
struct Fetched<'a> {
    elements: Elements<'a>,
    columns: usize,
    ld: usize,
    picked: Option<Picked<'a>>,
    moved: Columns,
    /// Columns of the operand.
    own: usize,
}

impl<'a> Input<'a> {
    fn new(elements: Elements<'a>, layout: Layout, kind: Kind, columns: usize) -> Result<Self> {
        match kind {
            Kind::Matrix | Kind::Column | Kind::Index => {
                Ok(Input::Rows { elements, columns: width(kind, columns), ld: ld(layout, kind) })
            }
            Kind::Row | Kind::Scalar | Kind::DeviceScalar => {
                let mut values = alloc::host_zeros(layout.columns)?;
                elements.widen(0, &mut values);
                Ok(Input::Constant(values))
            }
        }
    }

    /// Elements of a row.
    fn len(&self) -> usize {
        match self {
            Input::Constant(values) => values.len(),
            Input::Rows { columns, .. } | Input::Fetched(Fetched { columns, .. }) => *columns,
        }
    }

    fn read(&self, row: usize, target: &mut [f32]) {
        match self {
            Input::Constant(values) => target.copy_from_slice(values),
            Input::Rows { elements, ld, .. } => elements.widen(row * ld, target),
            Input::Fetched(fetched) => fetched.read(row, target),
        }
    }
}

impl Fetched<'_> {
    fn read(&self, row: usize, target: &mut [f32]) {
        let Fetched { elements, ld, own, .. } = *self;
        let Some(row) = self.picked.map_or(Some(row), |picked| picked.row(row)) else {
            return target.fill(f32::NAN);
        };
        if self.moved.are_same() {
            return elements.widen(row * ld, target);
        }
        for (column, value) in target.iter_mut().enumerate() {
            *value = match self.moved.at(column, own) {
                Some((column, true)) => -elements.one(row * ld + column),
                Some((column, false)) => elements.one(row * ld + column),
                None => f32::NAN,
            };
        }
    }
}

/// What is written.
struct Output<'a> {
    elements: ElementsMut<'a>,
    /// Of a row.
    columns: usize,
    ld: usize,
    rows: usize,
    picked: Option<Picked<'a>>,
    fold: Option<Fold>,
}

impl<'a> Output<'a> {
    fn new(view: &'a mut AnyViewMut<'_>, kind: Kind, columns: usize) -> Result<Self> {
        let (elements, layout) = ElementsMut::of(view)?;
        let (columns, ld) = (width(kind, columns), ld(layout, kind));
        Ok(Output { elements, columns, ld, rows: rows_of(layout, kind), picked: None, fold: None })
    }

    /// The first `rows` rows, and the others.
    fn split_at(self, rows: usize) -> (Self, Self) {
        let Output { elements, columns, ld, picked, .. } = self;
        let (first, rest) = elements.split_at(rows * ld);
        let of = |elements, rows| Output { elements, columns, ld, rows, picked, fold: None };
        (of(first, rows), of(rest, self.rows.saturating_sub(rows)))
    }

    fn write(&mut self, row: usize, values: &[f32]) {
        if values.is_empty() {
            return;
        }
        if let Some(fold) = &mut self.fold {
            return fold.add(values);
        }
        let row = self.picked.map_or(Some(row), |picked| picked.row(row));
        if let Some(row) = row {
            self.elements.narrow(row * self.ld, values);
        }
    }

    /// Writes what is known behind the last row.
    fn finish(mut self) {
        if let Some(fold) = self.fold.take()
            && self.columns > 0
        {
            self.elements.narrow(0, &fold.finish());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    use crate::{Column, Device, Index, Matrix, MatrixView, MatrixViewMut, Row};

    /// `out = x · scale + shift`, and its sum.
    const KINDS: [Kind; 5] = [Kind::Matrix, Kind::Row, Kind::Scalar, Kind::Matrix, Kind::Column];

    fn scaled(_: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        let ([x, scale, shift], [out, sum]) = (inputs, outputs) else { panic!("other operands") };
        out.iter_mut().zip(*x).zip(*scale).for_each(|((out, x), scale)| *out = x * scale + shift[0]);
        sum[0] = out.iter().sum();
    }

    #[test]
    fn every_row_is_computed_whatever_its_share_and_nothing_between_rows_is_written() {
        let (row_count, columns, ld) = (SHARE / 4, 5, 7);
        let x: Vec<bf16> = (0..row_count * ld).map(|at| bf16::from_f32((at % 11) as f32)).collect();
        let mut out = vec![-1.0f32; (row_count - 1) * ld + columns];
        let scale = Row::from_slice(&Device::cpu(), &[f16::from_f32(2.0); 5]).unwrap();
        let mut sums: Column<f32> = Column::zeros(&Device::cpu(), row_count).unwrap();
        let mut arguments: [Argument<'_>; 5] = [
            MatrixView::from_slice_with_ld(&x, row_count, columns, ld).unwrap().into(),
            scale.view().into(),
            Argument::Scalar(1.0),
            MatrixViewMut::from_slice_with_ld(&mut out, row_count, columns, ld).unwrap().into(),
            sums.view_mut().into(),
        ];
        rows(&mut arguments, &KINDS, &[], &[], scaled).unwrap();
        let sums = sums.to_vec().unwrap();
        for (at, got) in out.iter().enumerate() {
            let expected = if at % ld < columns { 2.0 * x[at].to_f32() + 1.0 } else { -1.0 };
            assert_eq!(*got, expected, "element {at}");
        }
        for (row, sum) in sums.iter().enumerate() {
            assert_eq!(*sum, out[row * ld..][..columns].iter().sum::<f32>(), "row {row}");
        }
    }

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let device = Device::cpu();
        let (x, mut out) = (Matrix::<f32>::zeros(&device, 2, 3).unwrap(), Matrix::<f32>::zeros(&device, 3, 3).unwrap());
        let refused =
            rows(&mut [(&x).into(), (&mut out).into()], &[Kind::Matrix; 2], &[], &[], |_, _, _| ()).unwrap_err();
        assert!(refused.to_string().contains("do not fit each other"), "{refused}");
        let refused = rows(&mut [Argument::Scalar(1.0)], &[Kind::Scalar], &[], &[], |_, _, _| ()).unwrap_err();
        assert!(refused.to_string().contains("none of them is a matrix"), "{refused}");
    }

    #[test]
    fn an_index_picks_the_rows_that_are_read_and_written_and_those_that_are_not_there_are_nan_and_left_out() {
        let device = Device::cpu();
        let table = Matrix::from_slice(&device, &[0.0f32, 1.0, 10.0, 11.0, 20.0, 21.0], 3, 2).unwrap();
        let index = |rows: &[i32]| Index::from_slice(&device, rows).unwrap();
        let (from, to) = (index(&[2, -1, 0, 3]), index(&[0, 4, 5, 3]));
        let mut out = Matrix::from_slice(&device, &[-1.0f32; 10], 5, 2).unwrap();
        let mut arguments: [Argument<'_>; 4] =
            [(&table).into(), from.view().into(), to.view().into(), (&mut out).into()];
        let kinds = [Kind::Matrix, Kind::Index, Kind::Index, Kind::Matrix];
        let pick = |operand, index| Pick { operand, index: Some(index), columns: Columns::Same };
        let picks = [pick(0, 1), pick(3, 2)];
        rows(&mut arguments, &kinds, &picks, &[], |_, inputs, outputs| outputs[0].copy_from_slice(inputs[3])).unwrap();
        let out = out.to_vec().unwrap();
        assert_eq!((&out[..2], &out[2..6]), (&[20.0, 21.0][..], &[-1.0; 4][..]));
        assert!(out[6..].iter().all(|value| value.is_nan()), "rows -1 and 3 are not there: {out:?}");
    }
}
