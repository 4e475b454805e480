//! Where the matrices of an operand lie inside a larger buffer.

use rand::RngExt;
use rand::rngs::StdRng;

/// Elements before and behind an operand that no launch may touch.
const GUARD: usize = 64;

/// Matrices inside a buffer: element `(r, c)` of matrix `b` is at `offset + b * strides[0] + r * strides[1] + c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Matrices, rows and columns.
    pub shape: [usize; 3],
    /// Elements from one matrix, and from one row, to the next.
    pub strides: [usize; 2],
    /// Elements of the buffer before the first one.
    pub offset: usize,
}

impl Place {
    /// Without gaps, and aligned.
    pub fn dense(shape: [usize; 3]) -> Self {
        let [_, rows, columns] = shape;
        Self { shape, strides: [rows * columns, columns], offset: GUARD }
    }

    /// Dense; aligned with gaps; odd; or the matrices between each other's rows, as the heads of a sequence lie. With
    /// `may_share`, now and then one matrix for all.
    pub fn random(rng: &mut StdRng, shape: [usize; 3], may_share: bool) -> Self {
        let [matrices, rows, columns] = shape;
        let dense = Self::dense(shape);
        let some = rng.random_range(0..4);
        let strided = |ld: usize, gap: usize| [rows * ld + gap, ld];
        match rng.random_range(0..if may_share { 7 } else { 6 }) {
            0 => dense,
            1 => Self {
                strides: strided(columns.next_multiple_of(8) + 8 * some, 8 * some),
                offset: GUARD + 8 * some,
                ..dense
            },
            2 => Self { strides: strided((columns + 2 * some) | 1, some), ..dense },
            3 => Self { strides: strided(columns + 3 * some, 0), offset: GUARD + 2 * some + 1, ..dense },
            4 => {
                let apart = columns.next_multiple_of(8) + 8 * some;
                Self { strides: [apart, apart * matrices.max(1)], ..dense }
            }
            5 => Self { strides: [columns + some, (columns + some) * matrices.max(1) + some], ..dense },
            _ => Self { strides: [0, columns.next_multiple_of(8)], ..dense },
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Elements from the first to one past the last.
    pub fn span(&self) -> usize {
        let [matrices, rows, columns] = self.shape;
        let [stride, ld] = self.strides;
        if self.is_empty() { 0 } else { (matrices - 1) * stride + (rows - 1) * ld + columns }
    }

    /// Elements of the buffer.
    pub fn buffer_len(&self) -> usize {
        self.offset + self.span() + GUARD
    }

    /// Where element `(row, column)` of a matrix lies in the buffer.
    pub fn at(&self, matrix: usize, row: usize, column: usize) -> usize {
        self.offset + matrix * self.strides[0] + row * self.strides[1] + column
    }

    /// Where each element lies, matrix by matrix and row by row.
    pub fn elements(self) -> impl Iterator<Item = usize> {
        self.places().map(|(at, _)| at)
    }

    /// The same, with the numbers of its matrix and row.
    pub fn places(self) -> impl Iterator<Item = (usize, [usize; 2])> {
        let [matrices, rows, columns] = self.shape;
        (0..matrices).flat_map(move |matrix| {
            let of_row = move |row| (0..columns).map(move |column| (self.at(matrix, row, column), [matrix, row]));
            (0..rows).flat_map(of_row)
        })
    }
}
