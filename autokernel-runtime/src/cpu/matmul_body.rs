//! Products with a body on the CPU: the product in `f32`, and what follows row by row, by the body's own Rust.

use autokernel_ops::body::Kind;

use super::RowFunction;
use super::matmul::matmul;
use super::rows::Operands;
use crate::{Argument, Error, MatrixView, MatrixViewMut, Result, alloc};

/// Computes the outputs among `arguments`, which are in host memory: multiplies the `factors`, of which the second is stored
/// as `[n, k]` if `transpose_b`, and hands each row of the product, before those of the other operands, to `row`. `kinds`
/// says how those are indexed.
///
/// # Errors
/// [`Error::Operands`] for operands of no such product, [`Error::DeviceMismatch`] for one that is on a GPU,
/// [`Error::OutOfMemory`].
pub fn matmul_body(
    arguments: &mut [Argument<'_>],
    factors: [usize; 2],
    transpose_b: bool,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let read = |factor: usize| match arguments.get(factor) {
        Some(Argument::Read(view)) => Ok(view.clone()),
        _ => {
            let reason = "a product reads two matrices".to_owned();
            Err(Error::Operands { kernel: "matmul".to_owned(), reason })
        }
    };
    let [a, b] = [Argument::Read(read(factors[0])?), Argument::Read(read(factors[1])?)];
    let (m, b_layout) = (a.layout().rows, b.layout());
    let n = if transpose_b { b_layout.rows } else { b_layout.columns };
    if m == 0 || n == 0 {
        return Ok(());
    }
    let mut sums = alloc::host_zeros::<f32>(m * n)?;
    matmul(&mut [a, b, MatrixViewMut::from_slice(&mut sums, m, n)?.into()], transpose_b, |sum| sum)?;

    let mut product = Argument::from(MatrixView::from_slice(&sums, m, n)?);
    let mut operands = Operands::of_rows(m, n);
    operands.add(&mut product, Kind::Matrix)?;
    let others = arguments.iter_mut().enumerate().filter(|(number, _)| !factors.contains(number));
    others.zip(kinds).try_for_each(|((_, argument), kind)| operands.add(argument, *kind))?;
    operands.compute(row)
}
