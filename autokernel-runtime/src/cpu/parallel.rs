//! Rows shared out to the threads of rayon's pool.

use rayon::prelude::*;

/// Rows that are worth a thread; what a kernel of `matrixmultiply` computes together.
pub(super) const FEWEST_ROWS: usize = 8;

/// Calls `work` with the number of each of the first `rows` rows, and its elements and those up to the next row, which begins `ld`
/// elements on.
///
/// `work` is no type parameter: rayon's machinery is compiled once for each type of elements, and not for each caller.
pub(super) fn for_each_row<T: Send>(
    elements: &mut [T],
    ld: usize,
    rows: usize,
    work: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    if ld > 0 {
        let rows = elements.par_chunks_mut(ld).take(rows).enumerate().with_min_len(FEWEST_ROWS);
        rows.for_each(|(row, elements)| work(row, elements));
    }
}
