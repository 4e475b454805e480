//! How an operand lies as a matrix.

use autokernel_core::{Extents, OWN_AXIS, Operand, Signature};

/// Rows and columns of the elements of operand `number`: the last axis is a row's, all others count rows.
pub fn rows_and_columns(signature: &Signature, number: usize, shape: &Extents) -> (usize, usize) {
    // Whoever picks rows of an operand finds as many as there are.
    let indices = |dim: u8| shape.size(if dim == OWN_AXIS { 0 } else { dim });
    let axes = signature.operands.get(number).map_or(&[][..], |operand| &operand.axes);
    let elements = |(axis, &dim): (usize, &u8)| signature.elements(number, axis, indices(dim)) as usize;
    let sizes: Vec<usize> = axes.iter().enumerate().map(elements).collect();
    match sizes.split_last() {
        Some((columns, rows)) => (rows.iter().product(), *columns),
        None => (1, 1),
    }
}

/// How many matrices an operand has along each axis outside of rows.
pub fn outer(operand: &Operand, shape: &Extents) -> Vec<usize> {
    let outside = operand.axes.len().saturating_sub(2);
    operand.axes[..outside].iter().map(|&dim| shape.size(dim) as usize).collect()
}

/// A matrix of all rows of an operand as the argument that has its axes.
macro_rules! argument {
    ($rows:expr, $outer:expr, $heads:ident) => {
        match $outer[..] {
            [] => Ok(autokernel_runtime::Argument::from($rows)),
            [batch] => autokernel_runtime::$heads::of_rows($rows, 1, batch).map(Into::into),
            [batch, heads] => autokernel_runtime::$heads::of_rows($rows, batch, heads).map(Into::into),
            _ => Err($crate::operand::too_many_axes()),
        }
    };
}

pub(crate) use argument;

/// No operand of a kernel has more than four.
pub fn too_many_axes() -> autokernel_runtime::Error {
    let (kernel, reason) = ("to be tuned".to_owned(), "an operand has more than four axes".to_owned());
    autokernel_runtime::Error::Operands { kernel, reason }
}

/// Another seed for each operand, also where those of a launch follow one another.
pub fn seed_of(operand: usize, seed: u64) -> u64 {
    match operand {
        0 => seed,
        1 => !seed,
        other => (!seed).wrapping_add((other as u64).wrapping_mul(0xd1b5_4a32_d192_ed03)),
    }
}
