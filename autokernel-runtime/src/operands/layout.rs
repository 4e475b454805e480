//! The arithmetic of row-major matrices inside flat buffers; every bound is checked here, once.

use std::ops::{Bound, Range, RangeBounds};

use autokernel_ops::body::Kind;

use crate::{Error, Result};

/// A row-major matrix inside a flat buffer: element `(r, c)` is at `r * ld + c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub rows: usize,
    pub columns: usize,
    /// Elements from one row to the next; at least `columns`.
    pub ld: usize,
    /// The axes outside of rows, outermost first: of one matrix, ones.
    pub outer: [Axis; 2],
    /// Whether those axes are an operand's own, whatever their sizes: of heads, and of no matrix.
    pub is_heads: bool,
}

/// An axis outside of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub size: usize,
    /// Elements from one index to the next.
    pub stride: usize,
}

impl Axis {
    pub const ONE: Axis = Axis { size: 1, stride: 0 };
}

impl Layout {
    /// One matrix.
    pub const fn matrix(rows: usize, columns: usize, ld: usize) -> Self {
        Self { rows, columns, ld, outer: [Axis::ONE; 2], is_heads: false }
    }

    /// Elements side by side.
    pub const fn one_row(len: usize) -> Self {
        Self::matrix(1, len, len)
    }

    /// A matrix without gaps that fills a buffer of `len` elements exactly.
    pub fn dense(len: usize, rows: usize, columns: usize) -> Result<Self> {
        let layout = Self::matrix(rows, columns, columns);
        if layout.span() == Some(len) {
            return Ok(layout);
        }
        Err(layout.buffer_size(len, "Pass exactly rows * columns elements, or give the leading dimension"))
    }

    /// A matrix with `ld` elements from one row to the next, in a buffer of at least the elements it spans.
    pub fn strided(len: usize, rows: usize, columns: usize, ld: usize) -> Result<Self> {
        if ld < columns {
            return Err(Error::LeadingDimension { columns, ld });
        }
        let layout = Self::matrix(rows, columns, ld);
        if layout.span().is_some_and(|span| span <= len) {
            return Ok(layout);
        }
        Err(layout.buffer_size(len, "Pass (rows - 1) * leading dimension + columns elements or more"))
    }

    /// Heads, `[batch, heads, sequence, elements]`, without gaps that fill a buffer of `len` elements exactly.
    pub fn dense_heads(len: usize, shape: [usize; 4]) -> Result<Self> {
        let [_, heads, sequence, elements] = shape;
        let of_head = sequence.saturating_mul(elements);
        let layout = Self::of_heads(shape, [heads.saturating_mul(of_head), of_head, elements]);
        if layout.span() == Some(len) {
            return Ok(layout);
        }
        Err(layout.heads_size(len, "Pass exactly batch * heads * sequence * elements, or give the strides"))
    }

    /// The same with strides along the first three axes, in a buffer of at least the elements they span.
    pub fn strided_heads(len: usize, shape: [usize; 4], strides: [usize; 3]) -> Result<Self> {
        let layout = Self::of_heads(shape, strides);
        if layout.span().is_some_and(|span| span <= len) {
            return Ok(layout);
        }
        Err(layout.heads_size(len, "Pass the elements up to the last, or more"))
    }

    /// A batch, `[matrices, rows, columns]`, without gaps that fills a buffer of `len` elements exactly.
    pub fn dense_batch(len: usize, shape: [usize; 3]) -> Result<Self> {
        let [_, rows, columns] = shape;
        let layout = Self::of_batch(shape, [rows.saturating_mul(columns), columns]);
        if layout.span() == Some(len) {
            return Ok(layout);
        }
        Err(layout.batch_size(len, "Pass exactly batch * rows * columns elements, or give the strides"))
    }

    /// The same with strides from matrix to matrix and from row to row, in a buffer of at least the elements it spans.
    pub fn strided_batch(len: usize, shape: [usize; 3], strides: [usize; 2]) -> Result<Self> {
        let ([.., columns], [_, ld]) = (shape, strides);
        if ld < columns {
            return Err(Error::LeadingDimension { columns, ld });
        }
        let layout = Self::of_batch(shape, strides);
        if layout.span().is_some_and(|span| span <= len) {
            return Ok(layout);
        }
        let remedy = "Pass (batch - 1) * stride + (rows - 1) * leading dimension + columns elements or more";
        Err(layout.batch_size(len, remedy))
    }

    const fn of_batch([matrices, rows, columns]: [usize; 3], [stride, ld]: [usize; 2]) -> Self {
        Self { outer: [Axis::ONE, Axis { size: matrices, stride }], ..Self::matrix(rows, columns, ld) }
    }

    /// The same rows and columns, of a batch of so many matrices that are one.
    pub const fn broadcast(self, matrices: usize) -> Self {
        Self { outer: [Axis::ONE, Axis { size: matrices, stride: 0 }], ..self }
    }

    /// The layout of some matrices of a batch, and the range of this layout's elements that they span.
    pub fn matrices(&self, range: impl RangeBounds<usize>) -> Result<(Self, Range<usize>)> {
        let [first, Axis { size, stride }] = self.outer;
        let range = resolve("matrices", range, size)?;
        let part = Self { outer: [first, Axis { size: range.len(), stride }], ..*self };
        Ok((part, part.at(range.start.saturating_mul(stride), self.is_empty())))
    }

    /// The layout of what one product of a batch has of an operand of that kind, and the range of this layout's elements that it
    /// spans: a matrix, one of the rows that hold one for each, or one of the numbers of a row.
    pub fn of_product(&self, number: usize, kind: Kind) -> Result<(Self, Range<usize>)> {
        let range = number..=number;
        match kind {
            Kind::Matrix => self.matrices(range),
            Kind::DeviceScalar => self.columns(range),
            _ => self.rows(range),
        }
    }

    const fn of_heads(shape: [usize; 4], strides: [usize; 3]) -> Self {
        let [batch, heads, rows, columns] = shape;
        let [of_batch, of_head, ld] = strides;
        let outer = [Axis { size: batch, stride: of_batch }, Axis { size: heads, stride: of_head }];
        Self { rows, columns, ld, outer, is_heads: true }
    }

    /// Sizes along all four axes, outermost first.
    pub const fn shape(&self) -> [usize; 4] {
        let [first, second] = self.outer;
        [first.size, second.size, self.rows, self.columns]
    }

    /// Elements from one index to the next along the first three axes.
    pub const fn strides(&self) -> [usize; 3] {
        let [first, second] = self.outer;
        [first.stride, second.stride, self.ld]
    }

    /// The same, refused where two places are one element: each must be written once.
    pub fn apart(self) -> Result<Self> {
        let [batch, heads, rows, columns] = self.shape();
        let mut axes: Vec<(usize, usize)> =
            [batch, heads, rows].into_iter().zip(self.strides()).filter(|(size, _)| *size > 1).collect();
        axes.sort_by_key(|(_, stride)| *stride);
        let mut span = columns;
        for (size, stride) in axes {
            if stride < span && !self.is_empty() {
                return Err(Error::Overlap { shape: self.shape(), strides: self.strides() });
            }
            span = span.saturating_add((size - 1).saturating_mul(stride));
        }
        Ok(self)
    }

    /// Where each row begins, in the order of the axes.
    pub fn row_starts(self) -> impl Iterator<Item = usize> {
        let ([batch, heads, rows, _], [of_batch, of_head, ld]) = (self.shape(), self.strides());
        let heads = (0..batch).flat_map(move |b| (0..heads).map(move |h| b * of_batch + h * of_head));
        heads.flat_map(move |head| (0..rows).map(move |row| head + row * ld))
    }

    /// Elements from the first to one past the last; `None` if that overflows.
    pub fn span(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let of_one = (self.rows - 1).checked_mul(self.ld)?.checked_add(self.columns)?;
        let outer = |span: usize, axis: &Axis| (axis.size - 1).checked_mul(axis.stride)?.checked_add(span);
        self.outer.iter().try_fold(of_one, outer)
    }

    /// Whether elements follow each other in their order, none twice.
    pub fn has_no_gaps(&self) -> bool {
        let ([batch, heads, rows, columns], [of_batch, of_head, ld]) = (self.shape(), self.strides());
        let mut before = columns;
        [(rows, ld), (heads, of_head), (batch, of_batch)].into_iter().all(|(size, stride)| {
            let follows = size <= 1 || stride == before;
            before = before.saturating_mul(size);
            follows
        })
    }

    /// Refuses another number of elements than there are.
    pub fn filled_by(&self, given: usize) -> Result<()> {
        let shape = self.shape();
        if shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size)) == Some(given) {
            return Ok(());
        }
        Err(Error::CopyLength { given, shape })
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0 || self.outer.iter().any(|axis| axis.size == 0)
    }

    /// The same elements, in the same order, as rows of another length; only where rows lie without gaps.
    pub fn reshaped(&self, rows: usize, columns: usize) -> Result<Self> {
        let (layout, len) = (Self::matrix(rows, columns, columns), self.rows.saturating_mul(self.columns));
        if self.outer.iter().any(|axis| axis.size != 1) {
            return Err(layout.buffer_size(len, "Many matrices are not reshaped as one: take one of them"));
        }
        if self.ld != self.columns && self.rows > 1 {
            return Err(layout.buffer_size(len, "There are gaps between its rows: reshape a matrix without"));
        }
        if layout.span() == Some(len) {
            return Ok(layout);
        }
        Err(layout.buffer_size(len, "Reshape to exactly as many elements"))
    }

    /// The layout of some rows, and the range of this layout's elements that they span.
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<(Self, Range<usize>)> {
        let range = resolve("rows", range, self.rows)?;
        let part = Self { rows: range.len(), ..*self };
        Ok((part, part.at(range.start.saturating_mul(self.ld), self.is_empty())))
    }

    /// The layout of some columns, and the range of this layout's elements that they span.
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<(Self, Range<usize>)> {
        self.within_rows("columns", range)
    }

    /// The same of one row, which stands for what has one axis.
    pub fn elements(&self, range: impl RangeBounds<usize>) -> Result<(Self, Range<usize>)> {
        self.within_rows("elements", range)
    }

    fn within_rows(&self, axis: &'static str, range: impl RangeBounds<usize>) -> Result<(Self, Range<usize>)> {
        let range = resolve(axis, range, self.columns)?;
        let part = Self { columns: range.len(), ..*self };
        Ok((part, part.at(range.start, self.is_empty())))
    }

    /// The range of the parent's elements from `offset` on; empty matrices start at 0, which always exists.
    fn at(&self, offset: usize, parent_is_empty: bool) -> Range<usize> {
        match self.span() {
            Some(span) if span > 0 && !parent_is_empty => offset..offset + span,
            _ => 0..0,
        }
    }

    fn heads_size(&self, len: usize, remedy: &'static str) -> Error {
        let needed = self.span().map_or_else(|| "more than memory holds".to_owned(), |span| span.to_string());
        Error::HeadsSize { len, shape: self.shape(), strides: self.strides(), needed, remedy }
    }

    fn batch_size(&self, len: usize, remedy: &'static str) -> Error {
        let needed = self.span().map_or_else(|| "more than memory holds".to_owned(), |span| span.to_string());
        let ([_, matrices, rows, columns], [_, stride, ld]) = (self.shape(), self.strides());
        Error::BatchSize { len, shape: [matrices, rows, columns], strides: [stride, ld], needed, remedy }
    }

    fn buffer_size(&self, len: usize, remedy: &'static str) -> Error {
        let needed = self.span().map_or_else(|| "more than memory holds".to_owned(), |span| span.to_string());
        let Self { rows, columns, ld, .. } = *self;
        Error::BufferSize { len, rows, columns, ld, needed, remedy }
    }
}

fn resolve(axis: &'static str, range: impl RangeBounds<usize>, extent: usize) -> Result<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        // Nothing has an index of which there is no next one.
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(extent),
    };
    match end.filter(|&end| start <= end && end <= extent) {
        Some(end) => Ok(start..end),
        None => Err(Error::OutOfRange { axis, start, end: end.unwrap_or(usize::MAX), extent }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_matrices_are_not_reshaped_as_one() {
        for count in [0, 2] {
            let layout = Layout::of_batch([count, 2, 3], [6, 3]);
            assert!(layout.reshaped(3, 2).unwrap_err().to_string().contains("Many matrices"));
        }
    }

    #[test]
    fn a_matrix_is_reshaped_to_as_many_elements_and_only_where_there_are_no_gaps() {
        let dense = Layout::matrix(4, 6, 6);
        assert_eq!(dense.reshaped(8, 3).unwrap(), Layout::matrix(8, 3, 3));
        assert_eq!(Layout::matrix(1, 6, 9).reshaped(3, 2).unwrap(), Layout::matrix(3, 2, 2));
        assert_eq!(Layout::matrix(0, 6, 6).reshaped(3, 0).unwrap(), Layout::matrix(3, 0, 0));
        for (layout, rows, columns) in [(dense, 8, 4), (dense, usize::MAX, 2), (Layout::matrix(4, 6, 7), 8, 3)] {
            assert!(layout.reshaped(rows, columns).is_err(), "{layout:?} as {rows}x{columns}");
        }
    }

    #[test]
    fn there_are_no_gaps_where_elements_follow_each_other_along_every_axis() {
        assert!(Layout::matrix(3, 4, 4).has_no_gaps() && Layout::matrix(1, 4, 9).has_no_gaps());
        assert!(!Layout::matrix(3, 4, 5).has_no_gaps() && !Layout::matrix(3, 4, 4).broadcast(2).has_no_gaps());
        assert!(Layout::dense_heads(48, [2, 3, 2, 4]).unwrap().has_no_gaps());
        assert!(!Layout::strided_heads(48, [2, 3, 2, 4], [24, 4, 12]).unwrap().has_no_gaps(), "heads side by side");
    }

    #[test]
    fn a_dense_matrix_fills_its_buffer_exactly() {
        assert!(Layout::dense(12, 3, 4).is_ok());
        for len in [11, 13] {
            let text = Layout::dense(len, 3, 4).unwrap_err().to_string();
            assert!(text.contains(&format!("{len} elements")) && text.contains("needs 12"), "{text}");
        }
    }

    #[test]
    fn the_last_row_needs_no_padding() {
        assert!(Layout::strided(2 * 8 + 4, 3, 4, 8).is_ok());
        assert!(Layout::strided(2 * 8 + 3, 3, 4, 8).is_err());
    }

    #[test]
    fn a_leading_dimension_below_the_row_is_refused() {
        assert!(matches!(Layout::strided(100, 3, 4, 3), Err(Error::LeadingDimension { columns: 4, ld: 3 })));
    }

    #[test]
    fn sizes_that_overflow_are_refused_and_not_wrapped() {
        let text = Layout::strided(10, usize::MAX, 4, usize::MAX).unwrap_err().to_string();
        assert!(text.contains("more than memory holds"), "{text}");
        assert!(Layout::dense(0, usize::MAX, 2).is_err());
    }

    #[test]
    fn empty_matrices_need_no_elements() {
        for (rows, columns) in [(0, 0), (0, 7), (7, 0)] {
            let layout = Layout::dense(0, rows, columns).unwrap();
            assert_eq!(layout.rows(..).unwrap().1, 0..0);
            assert_eq!(layout.columns(..).unwrap().1, 0..0);
        }
    }

    #[test]
    fn a_sub_view_starts_at_its_first_element_and_ends_after_its_last() {
        let layout = Layout::strided(3 * 10, 3, 8, 10).unwrap();
        let (rows, range) = layout.rows(1..3).unwrap();
        assert_eq!((rows, range), (Layout::matrix(2, 8, 10), 10..28));
        let (columns, range) = layout.columns(2..=4).unwrap();
        assert_eq!((columns, range), (Layout::matrix(3, 3, 10), 2..25));
    }

    #[test]
    fn heads_span_their_last_element_and_those_that_are_written_share_none() {
        assert!(Layout::dense_heads(2 * 3 * 4 * 8, [2, 3, 4, 8]).is_ok());
        assert!(Layout::dense_heads(2 * 3 * 4 * 8 + 1, [2, 3, 4, 8]).is_err());
        // [batch, sequence, heads, elements] in memory.
        let side_by_side = Layout::strided_heads(192, [2, 3, 4, 8], [96, 8, 24]).unwrap();
        assert_eq!(side_by_side.span(), Some(192));
        assert_eq!(side_by_side.row_starts().take(5).collect::<Vec<_>>(), [0, 24, 48, 72, 8]);
        assert!(side_by_side.apart().is_ok());
        let text = Layout::strided_heads(191, [2, 3, 4, 8], [96, 8, 24]).unwrap_err().to_string();
        assert!(text.contains("needs 192") && text.contains("2x3x4x8"), "{text}");
        let shared = Layout::strided_heads(192, [2, 3, 4, 8], [0, 32, 8]).unwrap();
        assert_eq!(shared.span(), Some(96));
        assert!(shared.apart().unwrap_err().to_string().contains("overlap"));
        assert!(Layout::strided_heads(9, [usize::MAX, 3, 4, 8], [usize::MAX, 8, 8]).is_err());
    }

    #[test]
    fn a_part_that_is_not_there_is_told_by_what_is_counted_with_the_range_and_the_extent() {
        let layout = Layout::dense(12, 3, 4).unwrap();
        let text = layout.rows(2..4).unwrap_err().to_string();
        assert_eq!(text, "rows 2..4 are asked for, and there are 3. Use a range within 0..3");
        assert!(layout.columns(5..).is_err());
        let text = Layout::one_row(4).elements(3..5).unwrap_err().to_string();
        assert!(text.starts_with("elements 3..5 are asked for, and there are 4."), "{text}");
        assert!(layout.columns(..=usize::MAX).is_err());
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = layout.rows(2..1);
        assert!(reversed.is_err());
    }

    #[test]
    fn a_batch_spans_its_last_matrix_and_nothing_behind_it() {
        assert!(Layout::dense_batch(2 * 3 * 4, [2, 3, 4]).is_ok());
        assert!(Layout::dense_batch(2 * 3 * 4 + 1, [2, 3, 4]).is_err());
        let layout = Layout::strided_batch(2 * 50 + 2 * 8 + 4, [3, 3, 4], [50, 8]).unwrap();
        let text = Layout::strided_batch(2 * 50 + 2 * 8 + 3, [3, 3, 4], [50, 8]).unwrap_err().to_string();
        assert!(text.contains("needs 120") && text.contains("119 elements"), "{text}");
        assert_eq!(layout.row_starts().collect::<Vec<_>>(), [0, 8, 16, 50, 58, 66, 100, 108, 116]);
        let (part, range) = layout.matrices(1..2).unwrap();
        assert_eq!((part.shape(), range), ([1, 1, 3, 4], 50..70));
        assert!(layout.matrices(2..4).unwrap_err().to_string().contains("matrices 2..4"));
        assert!(Layout::strided_batch(1, [usize::MAX, 3, 4], [usize::MAX, 8]).is_err());
    }

    #[test]
    fn a_broadcast_spans_one_matrix_and_none_may_be_written() {
        let layout = Layout::strided_batch(12, [5, 3, 4], [0, 4]).unwrap();
        assert_eq!(layout.span(), Some(12));
        let text = layout.apart().unwrap_err().to_string();
        assert!(text.contains("elements of 5x3x4 that lie 0x4 elements apart overlap"), "{text}");
    }

    #[test]
    fn matrices_that_are_written_lie_one_behind_the_other_or_between_each_others_rows() {
        let apart = |strides, shape| Layout::strided_batch(10_000, shape, strides).unwrap().apart().is_ok();
        assert!(apart([12, 4], [5, 3, 4]) && apart([4, 20], [5, 3, 4]) && apart([50, 8], [5, 3, 4]));
        assert!(!apart([11, 4], [5, 3, 4]) && !apart([4, 19], [5, 3, 4]) && !apart([3, 20], [5, 3, 4]));
        assert!(apart([0, 4], [1, 3, 4]) && apart([0, 4], [5, 0, 4]), "nothing is written twice");
    }
}
