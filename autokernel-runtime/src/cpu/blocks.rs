//! Blocks of a product on the CPU: widened to `f32` and multiplied by the `matrixmultiply` crate, on all cores.

use rayon::prelude::*;

use super::parallel::{FEWEST_ROWS, for_each_row};
use crate::Element;
use crate::operands::layout::Layout;

/// Rows of C that are computed together.
pub(super) const BLOCK_M: usize = 256;
/// Columns of C that are computed together.
pub(super) const BLOCK_N: usize = 512;

/// One input in host memory.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a, T> {
    pub data: &'a [T],
    pub layout: Layout,
}

/// Elements from one row, and from one column, to the next.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub row: usize,
    pub column: usize,
}

impl Strides {
    pub fn row_major(columns: usize) -> Self {
        Self { row: columns, column: 1 }
    }

    pub fn column_major(rows: usize) -> Self {
        Self { row: 1, column: rows }
    }
}

/// Dense `f32`, row by row or column by column.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub data: &'a [f32],
    pub strides: Strides,
}

/// Rows and columns of a factor as it is multiplied.
pub(super) fn sides(Layout { rows, columns, .. }: Layout, is_transposed: bool) -> (usize, usize) {
    if is_transposed { (columns, rows) } else { (rows, columns) }
}

/// Where a block of a factor lies: first row, first column, rows and columns of what is stored.
pub(super) type Stored = (usize, usize, usize, usize);

/// Where a block of a factor lies, and its elements once it is copied without gaps: that from row and column `first` on, of so
/// many rows and columns as it is multiplied.
pub(super) fn block(first: (usize, usize), (rows, columns): (usize, usize), is_transposed: bool) -> (Stored, Strides) {
    if is_transposed {
        ((first.1, first.0, columns, rows), Strides::column_major(rows))
    } else {
        ((first.0, first.1, rows, columns), Strides::row_major(columns))
    }
}

/// Copies `(first row, first column, rows, columns)` of an operand to `target`, row by row without gaps, as `f32`.
pub(super) fn widen_block<T: Element>(
    source: Operand<'_, T>,
    (first_row, first_column, rows, columns): Stored,
    target: &mut [f32],
) {
    for_each_row(target, columns, rows, &|row, target| {
        let start = (first_row + row) * source.layout.ld + first_column;
        T::widen(&source.data[start..start + columns], target);
    });
}

/// What is multiplied at once.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

/// `sums[m, n] = a[m, k] · b[k, n]`; K = 0 gives zeros. Each thread takes rows of the sums, or columns
/// where there are more of those, which then lie one after the other: gives the strides.
pub(super) fn multiply(size: Size, a: Matrix<'_>, b: Matrix<'_>, sums: &mut [f32]) -> Strides {
    let Size { m, n, k } = size;
    let share = |count: usize| count.div_ceil(rayon::current_num_threads()).next_multiple_of(FEWEST_ROWS);
    if k == 0 {
        sums.fill(0.0);
        return Strides::row_major(n);
    }
    if m >= n {
        let strides = Strides::row_major(n);
        let rows = share(m);
        sums.par_chunks_mut(rows * n).enumerate().for_each(|(share, sums)| {
            let a = Matrix { data: &a.data[share * rows * a.strides.row..], ..a };
            multiply_alone(Size { m: sums.len() / n, ..size }, a, b, sums, strides);
        });
        strides
    } else {
        let strides = Strides::column_major(m);
        let columns = share(n);
        sums.par_chunks_mut(columns * m).enumerate().for_each(|(share, sums)| {
            let b = Matrix { data: &b.data[share * columns * b.strides.column..], ..b };
            multiply_alone(Size { n: sums.len() / m, ..size }, a, b, sums, strides);
        });
        strides
    }
}

/// The same on this thread.
fn multiply_alone(Size { m, n, k }: Size, a: Matrix<'_>, b: Matrix<'_>, sums: &mut [f32], strides: Strides) {
    let last =
        |of: &Matrix<'_>, rows: usize, columns: usize| (rows - 1) * of.strides.row + (columns - 1) * of.strides.column;
    assert!(a.data.len() > last(&a, m, k) && b.data.len() > last(&b, k, n) && sums.len() == m * n);
    let [(a_row, a_column), (b_row, b_column), (row, column)] =
        [a.strides, b.strides, strides].map(|Strides { row, column }| (row as isize, column as isize));
    // SAFETY: the last elements of a and b lie within their data: both asserted above. The strides of `sums` are those of
    // m×n elements without gaps, by rows or by columns, and it is borrowed mutably.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            a.data.as_ptr(),
            a_row,
            a_column,
            b.data.as_ptr(),
            b_row,
            b_column,
            0.0,
            sums.as_mut_ptr(),
            row,
            column,
        );
    }
}
