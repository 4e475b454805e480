//! Where a matrix lies inside a larger buffer.

use std::fmt;
use std::ops::Range;

use rand::RngExt;
use rand::rngs::StdRng;

/// Elements before and after a matrix that no launch may touch.
const GUARD: usize = 256;

/// A row-major matrix inside a buffer: element `(r, c)` is at `offset + r * ld + c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Elements from one row to the next.
    pub ld: usize,
    /// Elements of the buffer before the first row.
    pub offset: usize,
}

impl Place {
    /// Rows without gaps, the first of them aligned.
    pub fn dense(rows: usize, columns: usize) -> Self {
        Self { rows, columns, ld: columns, offset: GUARD }
    }

    /// One of four kinds: dense; aligned rows with gaps; rows an odd distance apart; a sub-matrix at an odd column.
    pub fn random(rng: &mut StdRng, rows: usize, columns: usize) -> Self {
        let dense = Self::dense(rows, columns);
        let some = rng.random_range(0..5);
        match rng.random_range(0..4) {
            0 => dense,
            1 => Self { ld: columns.next_multiple_of(8) + 8 * some, offset: GUARD + 8 * some, ..dense },
            2 => Self { ld: (columns + 2 * some) | 1, ..dense },
            _ => Self { ld: columns + 3 * some, offset: GUARD + 2 * some + 1, ..dense },
        }
    }

    /// The elements of the buffer from the first of the matrix to its last.
    pub fn span(&self) -> Range<usize> {
        let len = if self.rows == 0 || self.columns == 0 { 0 } else { (self.rows - 1) * self.ld + self.columns };
        self.offset..self.offset + len
    }

    /// Elements of the buffer.
    pub fn buffer_len(&self) -> usize {
        self.span().end + GUARD
    }

    /// The elements of the buffer that each row takes.
    pub fn row_ranges(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let Self { rows, columns, ld, offset } = *self;
        let rows = if columns == 0 { 0 } else { rows };
        (0..rows).map(move |row| offset + row * ld..offset + row * ld + columns)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, ld, offset } = self;
        write!(f, "{rows}x{columns} ld {ld} at +{offset}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn random_placements_have_room_and_cover_aligned_and_unaligned_rows() {
        let mut rng = StdRng::seed_from_u64(1);
        let all: Vec<_> = (0..200).map(|_| Place::random(&mut rng, 5, 24)).collect();
        assert!(all.iter().all(|p| p.ld >= p.columns && p.row_ranges().last().unwrap().end + GUARD == p.buffer_len()));
        let aligned = |p: &&Place| p.ld.is_multiple_of(8) && p.offset.is_multiple_of(8);
        assert!(all.iter().filter(aligned).count() > 50);
        assert!(all.iter().filter(|p| p.ld % 2 == 1).count() > 30);
        assert!(all.iter().filter(|p| p.offset % 2 == 1).count() > 30);
    }

    #[test]
    fn an_empty_matrix_takes_nothing_of_its_buffer() {
        let empty = Place::dense(7, 0);
        assert_eq!((empty.span().len(), empty.row_ranges().count(), empty.buffer_len()), (0, 0, 2 * GUARD));
    }
}
