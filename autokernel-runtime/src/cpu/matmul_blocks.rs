//! Products of 8-bit floats on the CPU whose blocks have scales: both factors are widened to `f32` and scaled there.

use autokernel_ops::matmul::problem;

use super::blocked::{Widen, blocked_with};
use super::blocks::Stored;
use super::elements::{Elements, host_mut};
use super::matmul_weights::refused;
use super::parallel::for_each_row;
use crate::operands::layout::Layout;
use crate::{AnyView, MatrixViewMut, Result};

/// A factor and the scales of its blocks.
#[derive(Clone, Copy)]
pub(super) struct Scaled<'a> {
    pub factor: &'a AnyView<'a>,
    pub scales: &'a AnyView<'a>,
    /// Rows that share a scale, for as many numbers along K as all blocks have.
    pub rows: usize,
}

/// `sums = a · bᵀ` of the operands in host memory, whose blocks have `block` numbers along K.
///
/// # Errors
/// [`Error::Operands`](crate::Error::Operands) for operands of no such product,
/// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch) for one that is on a GPU,
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub(super) fn multiply(
    a: Scaled<'_>,
    b: Scaled<'_>,
    block: usize,
    sums: &mut MatrixViewMut<'_, f32>,
    factors: problem::Layout,
) -> Result<()> {
    if factors != problem::Layout::Nt {
        return Err(refused("of 8-bit floats both factors lie along K"));
    }
    let (a, b) = (Rows::of(a, block)?, Rows::of(b, block)?);
    if (a.layout.rows, b.layout.rows, a.layout.columns) != (sums.nrows(), sums.ncols(), b.layout.columns) {
        return Err(refused("their shapes are those of no product"));
    }
    let layout = sums.layout;
    let sums = host_mut(&mut sums.storage)?;
    let widen: [Widen<'_>; 2] = [&|stored, target| a.widen(stored, target), &|stored, target| b.widen(stored, target)];
    blocked_with(a.layout, widen, sums, layout, factors, |_| ())
}

/// Rows of numbers along K, a scale for each block of them.
struct Rows<'a> {
    elements: Elements<'a>,
    layout: Layout,
    scales: Elements<'a>,
    of_scales: Layout,
    /// Rows, and numbers along K, that share a scale.
    block: [usize; 2],
}

impl<'a> Rows<'a> {
    fn of(Scaled { factor, scales, rows }: Scaled<'a>, block: usize) -> Result<Self> {
        let ((elements, layout), (scales, of_scales)) = (Elements::of(factor)?, Elements::of(scales)?);
        let fits = rows > 0
            && block > 0
            && (of_scales.rows, of_scales.columns) == (layout.rows.div_ceil(rows), layout.columns.div_ceil(block));
        if !fits {
            return Err(refused("each block has one scale"));
        }
        Ok(Rows { elements, layout, scales, of_scales, block: [rows, block] })
    }

    /// Copies `(first row, first number, rows, numbers)` to `target`, row by row without gaps.
    fn widen(&self, (first_row, first, rows, numbers): Stored, target: &mut [f32]) {
        let [block_rows, block_k] = self.block;
        for_each_row(target, numbers, rows, &|row, target| {
            let row = first_row + row;
            self.elements.widen(row * self.layout.ld + first, target);
            for (at, value) in target.iter_mut().enumerate() {
                *value *= self.scales.one(row / block_rows * self.of_scales.ld + (first + at) / block_k);
            }
        });
    }
}
