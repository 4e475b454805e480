//! Row-wise kernels on the CPU: each row is widened to `f32`, computed by the body's own Rust, and rounded once. Rows are
//! shared out to the threads of rayon's pool.

use autokernel_ops::rows::Kind;
use half::{bf16, f16};

use crate::layout::Layout;
use crate::view::{Storage, StorageMut};
use crate::{AnyView, AnyViewMut, Argument, Device, Element, Error, Number, Result, alloc, e4m3, e5m2};

/// Computes the row of that number. Inputs and outputs are in the order of the signature; each is as long as a row, or of one
/// element where it has one a row or is a scalar.
pub type RowFunction = fn(usize, &[&[f32]], &mut [&mut [f32]]);

/// Elements below which a share of the rows is not divided further.
const SHARE: usize = 1 << 14;

/// Computes every row of the outputs among `arguments`, which are in host memory and indexed as `kinds` say, by `row`.
///
/// # Errors
/// [`Error::Operands`] for other operands than `kinds` says, [`Error::DeviceMismatch`] for one that is on a GPU,
/// [`Error::OutOfMemory`].
pub fn rows(arguments: &mut [Argument<'_>], kinds: &[Kind], row: RowFunction) -> Result<()> {
    let matrix = arguments.iter().zip(kinds).find(|(_, kind)| **kind == Kind::Matrix);
    let (matrix, _) = matrix.ok_or_else(|| refused("none of them is a matrix"))?;
    let Layout { rows, columns, .. } = matrix.layout();
    if arguments.len() != kinds.len() {
        return Err(unfitting());
    }
    let mut operands = Operands::of_rows(rows, columns);
    arguments.iter_mut().zip(kinds).try_for_each(|(argument, kind)| operands.add(argument, *kind))?;
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
}

impl<'a> Operands<'a> {
    /// None yet, of matrices of so many rows and columns.
    pub(super) fn of_rows(rows: usize, columns: usize) -> Self {
        Operands { rows, columns, inputs: Vec::new(), outputs: Vec::new() }
    }

    /// The next one.
    pub(super) fn add(&mut self, argument: &'a mut Argument<'_>, kind: Kind) -> Result<()> {
        let &mut Operands { rows, columns, .. } = self;
        let expected = match kind {
            Kind::Matrix => (rows, columns),
            Kind::Row => (1, columns),
            Kind::Column => (1, rows),
            Kind::Scalar | Kind::DeviceScalar => (1, 1),
        };
        let Layout { rows, columns: row_columns, .. } = argument.layout();
        if (rows, row_columns) != expected {
            return Err(unfitting());
        }
        match argument {
            Argument::Read(view) => self.inputs.push(Input::new(view, kind, columns)?),
            Argument::Write(view) => self.outputs.push(Output::new(view, kind, columns)?),
            Argument::Scalar(value) => self.inputs.push(Input::Constant(vec![*value])),
        }
        Ok(())
    }

    /// Computes every row.
    pub(super) fn compute(self, row: RowFunction) -> Result<()> {
        let Operands { rows, columns, inputs, outputs } = self;
        if rows == 0 {
            return Ok(());
        }
        share(&Work { inputs: &inputs, columns, row }, 0, rows, outputs)
    }
}

/// What is the same for all rows.
#[derive(Clone, Copy)]
struct Work<'w> {
    inputs: &'w [Input<'w>],
    columns: usize,
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
        row(first + number, &inputs, &mut written.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        outputs.iter_mut().zip(&written).for_each(|(output, values)| output.write(number, values));
    }
    Ok(())
}

/// What is read.
enum Input<'a> {
    /// The same for every row: a `Row`, or a number.
    Constant(Vec<f32>),
    /// A row, or one element, for each.
    Rows { elements: Elements<'a>, columns: usize, ld: usize },
}

enum Elements<'a> {
    Bf16(&'a [bf16]),
    F16(&'a [f16]),
    F32(&'a [f32]),
    E4m3(&'a [e4m3]),
    E5m2(&'a [e5m2]),
}

impl<'a> Input<'a> {
    fn new(view: &'a AnyView<'_>, kind: Kind, columns: usize) -> Result<Self> {
        let (elements, layout) = match view {
            AnyView::Bf16(view) => (Elements::Bf16(host(&view.storage)?), view.layout),
            AnyView::F16(view) => (Elements::F16(host(&view.storage)?), view.layout),
            AnyView::F32(view) => (Elements::F32(host(&view.storage)?), view.layout),
            AnyView::E4m3(view) => (Elements::E4m3(host(&view.storage)?), view.layout),
            AnyView::E5m2(view) => (Elements::E5m2(host(&view.storage)?), view.layout),
        };
        match kind {
            Kind::Matrix => Ok(Input::Rows { elements, columns, ld: layout.ld }),
            Kind::Column => Ok(Input::Rows { elements, columns: 1, ld: 1 }),
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
            Input::Rows { columns, .. } => *columns,
        }
    }

    fn read(&self, row: usize, target: &mut [f32]) {
        match self {
            Input::Constant(values) => target.copy_from_slice(values),
            Input::Rows { elements, ld, .. } => elements.widen(row * ld, target),
        }
    }
}

impl Elements<'_> {
    /// As many elements from `start` on as `target` takes.
    fn widen(&self, start: usize, target: &mut [f32]) {
        if target.is_empty() {
            return;
        }
        let range = start..start + target.len();
        match self {
            Elements::Bf16(data) => Number::widen(&data[range], target),
            Elements::F16(data) => Number::widen(&data[range], target),
            Elements::F32(data) => Number::widen(&data[range], target),
            Elements::E4m3(data) => Number::widen(&data[range], target),
            Elements::E5m2(data) => Number::widen(&data[range], target),
        }
    }
}

/// What is written.
struct Output<'a> {
    elements: ElementsMut<'a>,
    /// Of a row.
    columns: usize,
    ld: usize,
}

enum ElementsMut<'a> {
    Bf16(&'a mut [bf16]),
    F16(&'a mut [f16]),
    F32(&'a mut [f32]),
    E4m3(&'a mut [e4m3]),
    E5m2(&'a mut [e5m2]),
}

impl<'a> Output<'a> {
    fn new(view: &'a mut AnyViewMut<'_>, kind: Kind, columns: usize) -> Result<Self> {
        let (elements, layout) = match view {
            AnyViewMut::Bf16(view) => (ElementsMut::Bf16(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::F16(view) => (ElementsMut::F16(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::F32(view) => (ElementsMut::F32(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::E4m3(view) => (ElementsMut::E4m3(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::E5m2(view) => (ElementsMut::E5m2(host_mut(&mut view.storage)?), view.layout),
        };
        let (columns, ld) = if kind == Kind::Matrix { (columns, layout.ld) } else { (1, 1) };
        Ok(Output { elements, columns, ld })
    }

    /// The first `rows` rows, and the others.
    fn split_at(self, rows: usize) -> (Self, Self) {
        let Output { elements, columns, ld } = self;
        let at = rows * ld;
        let (first, rest) = match elements {
            ElementsMut::Bf16(data) => halves(data, at, ElementsMut::Bf16),
            ElementsMut::F16(data) => halves(data, at, ElementsMut::F16),
            ElementsMut::F32(data) => halves(data, at, ElementsMut::F32),
            ElementsMut::E4m3(data) => halves(data, at, ElementsMut::E4m3),
            ElementsMut::E5m2(data) => halves(data, at, ElementsMut::E5m2),
        };
        (Output { elements: first, columns, ld }, Output { elements: rest, columns, ld })
    }

    fn write(&mut self, row: usize, values: &[f32]) {
        if values.is_empty() {
            return;
        }
        let range = row * self.ld..row * self.ld + self.columns;
        match &mut self.elements {
            ElementsMut::Bf16(data) => narrow(&mut data[range], values),
            ElementsMut::F16(data) => narrow(&mut data[range], values),
            ElementsMut::F32(data) => narrow(&mut data[range], values),
            ElementsMut::E4m3(data) => narrow(&mut data[range], values),
            ElementsMut::E5m2(data) => narrow(&mut data[range], values),
        }
    }
}

fn halves<'a, T>(
    data: &'a mut [T],
    at: usize,
    of: fn(&'a mut [T]) -> ElementsMut<'a>,
) -> (ElementsMut<'a>, ElementsMut<'a>) {
    // The last row ends with its last element, not with the gap behind it.
    let (first, rest) = data.split_at_mut(at.min(data.len()));
    (of(first), of(rest))
}

fn narrow<T: Element>(target: &mut [T], values: &[f32]) {
    target.iter_mut().zip(values).for_each(|(target, value)| *target = T::from_f32(*value));
}

fn host<'a, T: Element>(storage: &'a Storage<'_, T>) -> Result<&'a [T]> {
    match storage {
        Storage::Host(data) => Ok(data),
        Storage::Cuda(_) => Err(on_a_gpu()),
    }
}

fn host_mut<'a, T: Element>(storage: &'a mut StorageMut<'_, T>) -> Result<&'a mut [T]> {
    match storage {
        StorageMut::Host(data) => Ok(data),
        StorageMut::Cuda(_) => Err(on_a_gpu()),
    }
}

fn on_a_gpu() -> Error {
    Error::DeviceMismatch {
        what: "an operand and the launch".to_owned(),
        left: "a GPU".to_owned(),
        right: Device::cpu().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Matrix, MatrixView, MatrixViewMut, Row};

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
        rows(&mut arguments, &KINDS, scaled).unwrap();
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
        let refused = rows(&mut [(&x).into(), (&mut out).into()], &[Kind::Matrix; 2], |_, _, _| ()).unwrap_err();
        assert!(refused.to_string().contains("do not fit each other"), "{refused}");
        let refused = rows(&mut [Argument::Scalar(1.0)], &[Kind::Scalar], |_, _, _| ()).unwrap_err();
        assert!(refused.to_string().contains("none of them is a matrix"), "{refused}");
    }
}
