//! How candle's tensors lie in memory, as matrices, rows, batches and heads see it. Plain numbers, no memory.

use candle_core::Layout;

use crate::{Error, Result};

/// Rows of a tensor: the last axis along a row, all others one below the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Where the first element is.
    pub start: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Elements from one row to the next.
    pub ld: usize,
}

impl Rows {
    /// Those of a tensor of one axis or more.
    ///
    /// # Errors
    /// [`Error::Shape`] of a scalar; [`Error::Layout`] where the last axis has gaps, or the others no common stride.
    pub fn of(layout: &Layout) -> Result<Self> {
        let ([leading @ .., columns], [strides @ .., _]) = (layout.dims(), layout.stride()) else {
            return Err(shape(layout, "matrix"));
        };
        elements_side_by_side(layout, "the rows of a matrix")?;
        let rows = leading.iter().product();
        // From the innermost axis out, without those along which there is nothing to step.
        let axes = leading.iter().zip(strides).rev().filter(|(size, _)| **size > 1);
        let (mut ld, mut next) = (None, 0);
        for (size, stride) in axes {
            if ld.is_some() && *stride != next {
                return Err(refused(layout, "the rows of a matrix", "its rows are not one distance apart"));
            }
            ld = ld.or(Some(*stride));
            next = size * stride;
        }
        let ld = ld.unwrap_or(*columns);
        if ld < *columns && rows > 1 {
            return Err(refused(layout, "the rows of a matrix", "its rows overlap, as those of a broadcast do"));
        }
        Ok(Rows { start: layout.start_offset(), rows, columns: *columns, ld })
    }
}

/// Elements of a vector: where the first is, and how many.
///
/// # Errors
/// [`Error::Shape`] of a tensor with more than one axis along which there is something to step, [`Error::Layout`] of one with gaps.
pub fn vector(layout: &Layout) -> Result<(usize, usize)> {
    if layout.dims().iter().filter(|size| **size != 1).count() > 1 {
        return Err(shape(layout, "vector"));
    }
    let (start, end) =
        layout.contiguous_offsets().ok_or_else(|| refused(layout, "a vector", "there are gaps between them"))?;
    Ok((start, end - start))
}

/// A tensor of axes of which the last one is dense: where it starts, its shape, and the strides of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes<const N: usize, const OUTER: usize> {
    /// Where the first element is.
    pub start: usize,
    /// Elements along each axis.
    pub shape: [usize; N],
    /// Elements from one index to the next along each axis but the last.
    pub strides: [usize; OUTER],
}

impl<const N: usize, const OUTER: usize> Axes<N, OUTER> {
    /// Those of a tensor of `N` axes.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of them, [`Error::Layout`] where the last one has gaps.
    pub fn of(layout: &Layout, expected: &'static str) -> Result<Self> {
        let (Ok(dims), Some(strides)) = (layout.dims().try_into(), layout.stride().first_chunk()) else {
            return Err(shape(layout, expected));
        };
        elements_side_by_side(layout, expected)?;
        Ok(Axes { start: layout.start_offset(), shape: dims, strides: *strides })
    }

    /// The same of a tensor of that shape.
    ///
    /// # Errors
    /// [`Error::Shape`] for one of another.
    pub fn shaped(layout: &Layout, dims: [usize; N], expected: &'static str) -> Result<Self> {
        let axes = Self::of(layout, expected)?;
        if axes.shape == dims { Ok(axes) } else { Err(shape(layout, expected)) }
    }
}

fn elements_side_by_side(layout: &Layout, expected: &'static str) -> Result<()> {
    match (layout.dims().last(), layout.stride().last()) {
        (Some(0 | 1), _) | (_, Some(1)) => Ok(()),
        _ => Err(refused(layout, expected, "elements along the last axis are not side by side")),
    }
}

fn shape(layout: &Layout, expected: &'static str) -> Error {
    Error::Shape { shape: layout.dims().to_vec(), expected }
}

fn refused(layout: &Layout, expected: &'static str, reason: &'static str) -> Error {
    let (shape, strides) = (layout.dims().to_vec(), layout.stride().to_vec());
    Error::Layout { shape, strides, expected, reason }
}

#[cfg(test)]
mod tests {
    use candle_core::Shape;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn leading_axes_are_rows_where_they_have_one_stride_and_are_refused_where_not() {
        let whole = Layout::contiguous((2, 3, 4));
        assert_eq!(Rows::of(&whole).unwrap(), Rows { start: 0, rows: 6, columns: 4, ld: 4 });
        let some_columns = whole.narrow(2, 1, 2).unwrap();
        assert_eq!(Rows::of(&some_columns).unwrap(), Rows { start: 1, rows: 6, columns: 2, ld: 4 });
        let one_of_each = whole.narrow(1, 2, 1).unwrap();
        assert_eq!(Rows::of(&one_of_each).unwrap(), Rows { start: 8, rows: 2, columns: 4, ld: 12 });
        for (layout, reason) in [
            (whole.narrow(1, 0, 2).unwrap(), "not one distance apart"),
            (whole.transpose(1, 2).unwrap(), "not side by side"),
            (Layout::contiguous((1, 4)).broadcast_as((5, 4)).unwrap(), "overlap"),
        ] {
            let message = Rows::of(&layout).unwrap_err().to_string();
            assert!(message.contains(reason) && message.contains("`contiguous`"), "{message}");
        }
        assert!(matches!(Rows::of(&Layout::contiguous(())), Err(Error::Shape { .. })));
    }

    #[test]
    fn a_vector_may_have_axes_of_one_and_no_gaps() {
        assert_eq!(vector(&Layout::contiguous((1, 5))).unwrap(), (0, 5));
        assert_eq!(vector(&Layout::contiguous(9).narrow(0, 2, 3).unwrap()).unwrap(), (2, 3));
        assert!(matches!(vector(&Layout::contiguous((2, 5))), Err(Error::Shape { .. })));
        let column = Layout::contiguous((4, 3)).narrow(1, 0, 1).unwrap();
        assert!(matches!(vector(&column), Err(Error::Layout { .. })));
    }

    /// Where the elements are, in order, from the definition of strides.
    fn places(layout: &Layout) -> Vec<usize> {
        let axes = layout.dims().iter().zip(layout.stride());
        axes.fold(vec![layout.start_offset()], |places, (size, stride)| {
            places.into_iter().flat_map(|place| (0..*size).map(move |index| place + index * stride)).collect()
        })
    }

    proptest! {
        #[test]
        fn every_element_of_a_matrix_is_where_candle_has_it(
            dims in prop::collection::vec(1usize..4, 1..5), narrowed in 0usize..5, start in 0usize..3, length in 1usize..4,
        ) {
            let mut layout = Layout::contiguous(Shape::from(dims.clone()));
            let axis = narrowed % dims.len();
            if start + length <= dims[axis] {
                layout = layout.narrow(axis, start, length).unwrap();
            }
            let Ok(rows) = Rows::of(&layout) else { return Ok(()) };
            let ours = (0..rows.rows).flat_map(|row| (0..rows.columns).map(move |column| rows.start + row * rows.ld + column));
            prop_assert_eq!(ours.collect::<Vec<_>>(), places(&layout));
        }
    }
}
