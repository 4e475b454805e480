//! The arithmetic of row-major matrices inside flat buffers; every bound is checked here, once.

use std::ops::{Bound, Range, RangeBounds};

use crate::{Error, Result};

/// A row-major matrix inside a flat buffer: element `(r, c)` is at `r * ld + c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub rows: usize,
    pub columns: usize,
    /// Elements from one row to the next; at least `columns`.
    pub ld: usize,
}

impl Layout {
    /// A matrix without gaps that fills a buffer of `len` elements exactly.
    pub fn dense(len: usize, rows: usize, columns: usize) -> Result<Self> {
        let layout = Self { rows, columns, ld: columns };
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
        let layout = Self { rows, columns, ld };
        if layout.span().is_some_and(|span| span <= len) {
            return Ok(layout);
        }
        Err(layout.buffer_size(len, "Pass (rows - 1) * leading dimension + columns elements or more"))
    }

    /// Elements from the first to one past the last; `None` if that overflows.
    pub fn span(&self) -> Option<usize> {
        if self.rows == 0 || self.columns == 0 {
            return Some(0);
        }
        (self.rows - 1).checked_mul(self.ld)?.checked_add(self.columns)
    }

    /// Whether the matrix has no elements.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0
    }

    /// The layout of some rows, and the range of this layout's elements that they span.
    pub fn rows(&self, range: impl RangeBounds<usize>) -> Result<(Self, Range<usize>)> {
        let range = resolve("rows", range, self.rows)?;
        let part = Self { rows: range.len(), ..*self };
        Ok((part, part.at(range.start * self.ld, self.is_empty())))
    }

    /// The layout of some columns, and the range of this layout's elements that they span.
    pub fn columns(&self, range: impl RangeBounds<usize>) -> Result<(Self, Range<usize>)> {
        let range = resolve("columns", range, self.columns)?;
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

    fn buffer_size(&self, len: usize, remedy: &'static str) -> Error {
        let needed = self.span().map_or_else(|| "more than memory holds".to_owned(), |span| span.to_string());
        let Self { rows, columns, ld } = *self;
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
        Bound::Included(&end) => end.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => extent,
    };
    if start <= end && end <= extent {
        return Ok(start..end);
    }
    Err(Error::OutOfRange { axis, start, end, extent })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((rows, range), (Layout { rows: 2, columns: 8, ld: 10 }, 10..28));
        let (columns, range) = layout.columns(2..=4).unwrap();
        assert_eq!((columns, range), (Layout { rows: 3, columns: 3, ld: 10 }, 2..25));
    }

    #[test]
    fn a_sub_view_outside_its_matrix_names_the_range_and_the_extent() {
        let layout = Layout::dense(12, 3, 4).unwrap();
        let text = layout.rows(2..4).unwrap_err().to_string();
        assert!(text.contains("rows 2..4") && text.contains("3 rows"), "{text}");
        assert!(layout.columns(5..).is_err());
        assert!(layout.columns(..=usize::MAX).is_err());
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = layout.rows(2..1);
        assert!(reversed.is_err());
    }
}
