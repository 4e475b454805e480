//! The product of floats in blocks, summed in `f32`.

use autokernel_ops::matmul::problem;
use rayon::prelude::*;

use super::blocks::{
    BLOCK_M, BLOCK_N, FEWEST_ROWS, Matrix, Operand, Size, Stored, block, multiply, sides, widen_block,
};
use super::epilogue::{RowEpilogue, store};
use crate::layout::Layout;
use crate::{Element, Result, alloc};

/// A first factor: how it lies, and what copies a block of it, as [`widen_block`] does.
pub(super) struct Widened<W> {
    pub layout: Layout,
    pub widen: W,
}

/// One that is copied as it is.
pub(super) fn as_it_is<I: Element>(a: Operand<'_, I>) -> Widened<impl Fn(Stored, &mut [f32])> {
    Widened { layout: a.layout, widen: move |stored, target: &mut [f32]| widen_block(a, stored, target) }
}

/// `c = epilogue(a · b)`, where `widen_b` copies a block of the second factor, as [`widen_block`] does.
pub(super) fn blocked_with<O: Element>(
    a: Widened<impl Fn(Stored, &mut [f32])>,
    widen_b: impl Fn(Stored, &mut [f32]),
    c: &mut [O],
    c_layout: Layout,
    factors: problem::Layout,
    epilogue: RowEpilogue,
) -> Result<()> {
    let (m, n, (_, k)) = (c_layout.rows, c_layout.columns, sides(a.layout, factors.transpose_a()));
    let mut a_block = alloc::host_zeros::<f32>(m.min(BLOCK_M) * k)?;
    let mut b_block = alloc::host_zeros::<f32>(n.min(BLOCK_N) * k)?;
    let mut sums = alloc::host_zeros::<f32>(m.min(BLOCK_M) * n.min(BLOCK_N))?;

    for first_n in (0..n).step_by(BLOCK_N) {
        let block_n = BLOCK_N.min(n - first_n);
        let (b_stored, b_strides) = block((0, first_n), (k, block_n), factors.transpose_b());
        widen_b(b_stored, &mut b_block);
        for first_m in (0..m).step_by(BLOCK_M) {
            let block_m = BLOCK_M.min(m - first_m);
            let (a_stored, a_strides) = block((first_m, 0), (block_m, k), factors.transpose_a());
            (a.widen)(a_stored, &mut a_block);
            let size = Size { m: block_m, n: block_n, k };
            let sums = &mut sums[..block_m * block_n];
            let a = Matrix { data: &a_block, strides: a_strides };
            let strides = multiply(size, a, Matrix { data: &b_block, strides: b_strides }, sums);
            let rows = c.par_chunks_mut(c_layout.ld).skip(first_m).take(block_m).enumerate().with_min_len(FEWEST_ROWS);
            rows.for_each(|(row, c)| {
                let (sums, c) = (&sums[row * strides.row..], &mut c[first_n..first_n + block_n]);
                if strides.column == 1 {
                    store(sums.iter().copied(), epilogue, c);
                } else {
                    store(sums.iter().step_by(strides.column).copied(), epilogue, c);
                }
            });
        }
    }
    Ok(())
}
