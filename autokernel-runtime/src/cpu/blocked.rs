//! The product of floats in blocks, summed in `f32`.

use autokernel_ops::matmul::problem;

use super::blocks::{BLOCK_M, BLOCK_N, Matrix, Operand, Size, Stored, block, multiply, sides, widen_block};
use super::epilogue::{RowEpilogue, store};
use super::parallel::for_each_row;
use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::{Element, Result};

/// What copies a block of a factor, as [`widen_block`] does.
pub(super) type Widen<'w> = &'w dyn Fn(Stored, &mut [f32]);

/// Copies blocks of a factor as it is.
pub(super) fn as_it_is<I: Element>(factor: Operand<'_, I>) -> impl Fn(Stored, &mut [f32]) {
    move |stored, target| widen_block(factor, stored, target)
}

/// `c = epilogue(a · b)` of a first factor that lies so.
pub(super) fn blocked_with<O: Element>(
    a_layout: Layout,
    [widen_a, widen_b]: [Widen<'_>; 2],
    c: &mut [O],
    c_layout: Layout,
    factors: problem::Layout,
    epilogue: RowEpilogue,
) -> Result<()> {
    let (m, n, (_, k)) = (c_layout.rows, c_layout.columns, sides(a_layout, factors.transpose_a()));
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
            widen_a(a_stored, &mut a_block);
            let size = Size { m: block_m, n: block_n, k };
            let sums = &mut sums[..block_m * block_n];
            let a = Matrix { data: &a_block, strides: a_strides };
            let strides = multiply(size, a, Matrix { data: &b_block, strides: b_strides }, sums);
            for_each_row(&mut c[first_m * c_layout.ld..], c_layout.ld, block_m, &|row, c| {
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
