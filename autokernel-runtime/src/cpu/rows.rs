//! Row-wise kernels on the CPU: each row is widened to `f32`, computed by the body's own Rust, and rounded once. Rows are
//! shared out to the threads of rayon's pool.

use autokernel_ops::body::Reduction;
use autokernel_ops::rows::Kind;

use super::operands::{Operands, Own, RowFunction, refused, unfitting};
use super::picks::Pick;
use crate::{Argument, Result};

/// Computes every row of the outputs among `arguments`, which are in host memory and indexed as `kinds` say, by `row`. Indices
/// pick rows of some, as `picks` say; of rows that are written more than once the last stays. Of each output `folds` says how the
/// values of all rows are reduced to one a column, if they are.
///
/// # Errors
/// [`Error::Operands`](crate::Error::Operands) for other operands than `kinds` says, [`Error::DeviceMismatch`](crate::Error::DeviceMismatch) for one that is on a GPU,
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
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

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::super::operands::Place;
    use super::super::operands::SHARE;
    use super::super::picks::Columns;
    use super::*;
    use crate::{Column, Device, Index, Matrix, MatrixView, MatrixViewMut, Row};

    /// `out = x · scale + shift`, and its sum.
    const KINDS: [Kind; 5] = [Kind::Matrix, Kind::Row, Kind::Scalar, Kind::Matrix, Kind::Column];

    fn scaled(_: Place, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
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
    fn matrices_without_columns_have_any_number_of_rows_and_any_stride() {
        let view = |rows, ld| MatrixView::<f32>::from_slice_with_ld(&[], rows, 0, ld).unwrap();
        let view_mut = |rows, ld| MatrixViewMut::<f32>::from_slice_with_ld(&mut [], rows, 0, ld).unwrap();
        let never = |_: Place, _: &[&[f32]], _: &mut [&mut [f32]]| panic!("nothing is written");
        let mut arguments: [Argument<'_>; 2] = [view(usize::MAX, 9).into(), view_mut(usize::MAX, usize::MAX).into()];
        rows(&mut arguments, &[Kind::Matrix; 2], &[], &[], never).unwrap();

        let mut sums: Column<f32> = Column::from_slice(&Device::cpu(), &[7.0; 5]).unwrap();
        let mut arguments: [Argument<'_>; 2] = [view(5, usize::MAX).into(), sums.view_mut().into()];
        let sum: RowFunction = |_, inputs, outputs| outputs[0][0] = inputs[0].iter().fold(0.0, |sum, x| sum + x);
        rows(&mut arguments, &[Kind::Matrix, Kind::Column], &[], &[], sum).unwrap();
        assert_eq!(sums.to_vec().unwrap(), [0.0; 5]);
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
