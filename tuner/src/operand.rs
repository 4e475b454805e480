//! How an operand lies as a matrix.

use autokernel_core::{Extents, OWN_AXIS, Operand};

/// Rows and columns of an operand: the last axis is a row's, all others count rows.
pub fn rows_and_columns(operand: &Operand, shape: &Extents) -> (usize, usize) {
    // Whoever picks rows of an operand finds as many as there are.
    let size = |dim: u8| shape.size(if dim == OWN_AXIS { 0 } else { dim }) as usize;
    let sizes: Vec<usize> = operand.axes.iter().map(|&dim| size(dim)).collect();
    match sizes.split_last() {
        Some((columns, rows)) => (rows.iter().product(), *columns),
        None => (1, 1),
    }
}

/// Another seed for each operand, also where those of a launch follow one another.
pub fn seed_of(operand: usize, seed: u64) -> u64 {
    match operand {
        0 => seed,
        1 => !seed,
        other => (!seed).wrapping_add((other as u64).wrapping_mul(0xd1b5_4a32_d192_ed03)),
    }
}
