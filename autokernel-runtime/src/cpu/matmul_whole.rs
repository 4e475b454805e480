//! Products of whole numbers on the CPU: sums are exact, as those of the GPU are.
//!
//! `f32` holds every whole number up to 2²⁴, so that 1024 products of two numbers of 8 bits add up exactly there, in any order.
//! Such sums are added in whole numbers of 32 bits, which wrap around beyond 2³¹, and become `f32` when they are whole.

use autokernel_ops::matmul::problem;

use super::blocks::{BLOCK_M, BLOCK_N, Matrix, Operand, Size, Strides, block, multiply, sides, widen_block};
use super::epilogue::{RowEpilogue, store};
use super::parallel::for_each_row;
use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::{Element, Result};

/// Products of −128 by −128 whose sum is 2²⁴.
const EXACT_K: usize = 1024;

/// The product in blocks; the shapes fit.
pub(super) fn blocked<O: Element>(
    a: Operand<'_, i8>,
    b: Operand<'_, i8>,
    c: &mut [O],
    c_layout: Layout,
    factors: problem::Layout,
    epilogue: RowEpilogue,
) -> Result<()> {
    let (m, n, (_, k)) = (c_layout.rows, c_layout.columns, sides(a.layout, factors.transpose_a()));
    let (most_m, most_n, most_k) = (m.min(BLOCK_M), n.min(BLOCK_N), k.min(EXACT_K));
    let mut a_block = alloc::host_zeros::<f32>(most_m * most_k)?;
    let mut b_block = alloc::host_zeros::<f32>(most_n * most_k)?;
    let mut part = alloc::host_zeros::<f32>(most_m * most_n)?;
    let mut sums = alloc::host_zeros::<i32>(most_m * most_n)?;

    for (first_m, first_n) in (0..m).step_by(BLOCK_M).flat_map(|m| (0..n).step_by(BLOCK_N).map(move |n| (m, n))) {
        let (rows, columns) = (BLOCK_M.min(m - first_m), BLOCK_N.min(n - first_n));
        let (part, sums) = (&mut part[..rows * columns], &mut sums[..rows * columns]);
        sums.fill(0);
        for first_k in (0..k).step_by(EXACT_K) {
            let size = Size { m: rows, n: columns, k: EXACT_K.min(k - first_k) };
            let (stored, strides) = block((first_k, first_n), (size.k, columns), factors.transpose_b());
            widen_block(b, stored, &mut b_block);
            let b = Matrix { data: &b_block, strides };
            let (stored, strides) = block((first_m, first_k), (rows, size.k), factors.transpose_a());
            widen_block(a, stored, &mut a_block);
            let lies = multiply(size, Matrix { data: &a_block, strides }, b, part);
            add(sums, columns, part, lies);
        }
        for_each_row(&mut c[first_m * c_layout.ld..], c_layout.ld, rows, &|row, target| {
            let sums = &sums[row * columns..(row + 1) * columns];
            store(sums.iter().map(|sum| *sum as f32), epilogue, &mut target[first_n..first_n + columns]);
        });
    }
    Ok(())
}

/// Adds what is exact in `f32` to the sums, which lie row by row.
fn add(sums: &mut [i32], columns: usize, part: &[f32], lies: Strides) {
    for_each_row(sums, columns, usize::MAX, &|row, sums| {
        let part = part[row * lies.row..].iter().step_by(lies.column);
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.wrapping_add(*part as i32));
    });
}
