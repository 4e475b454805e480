//! Products with a body on the CPU: each product in `f32`, and what follows row by row, by the body's own Rust.

use autokernel_ops::body::Kind;
use autokernel_ops::matmul::problem::Layout;

use super::RowFunction;
use super::blocks::sides;
use super::matmul::matmul;
use super::matmul_weights::{self, Scales};
use super::operands::Operands;
use crate::{AnyView, AnyViewMut, Argument, Error, MatrixView, MatrixViewMut, Result, alloc};

/// Computes the outputs among `arguments`, which are in host memory: multiplies the first of the `factors` with each of the
/// others, which lie as `layout` says, and hands each row of those products, before those of the other
/// operands, to `row`. `kinds` says how those are indexed.
///
/// # Errors
/// [`Error::Operands`] for operands of no such products, [`Error::DeviceMismatch`] for one that is on a GPU,
/// [`Error::OutOfMemory`].
pub fn matmul_body(
    arguments: &mut [Argument<'_>],
    factors: &[usize],
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    matmul_body_from(0, arguments, (factors, &[]), layout, kinds, row)
}

/// The same where second factors have scales of groups along K: `scales` has the argument of each, and how many numbers a group has.
///
/// # Errors
/// As [`matmul_body`].
pub fn matmul_body_scaled(
    arguments: &mut [Argument<'_>],
    scales: &[(usize, usize)],
    factors: &[usize],
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    matmul_body_from(0, arguments, (factors, scales), layout, kinds, row)
}

/// The same of rows whose numbers begin with `first_row`.
pub(super) fn matmul_body_from(
    first_row: usize,
    arguments: &mut [Argument<'_>],
    (factors, scales): (&[usize], &[(usize, usize)]),
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let views = factors.iter().map(|factor| read(arguments, *factor)).collect::<Result<Vec<_>>>()?;
    let [a, first, ..] = &views[..] else { return Err(refused()) };
    let (m, _) = sides(Argument::Read(a.clone()).layout(), layout.transpose_a());
    let (_, n) = sides(Argument::Read(first.clone()).layout(), layout.transpose_b());
    if m == 0 || n == 0 {
        return Ok(());
    }
    let mut products = Vec::with_capacity(views.len() - 1);
    for (number, b) in views[1..].iter().enumerate() {
        let mut sums = alloc::host_zeros::<f32>(m * n)?;
        match scales.get(number) {
            None => {
                let out = MatrixViewMut::from_slice(&mut sums, m, n)?.into();
                matmul(&mut [Argument::Read(a.clone()), Argument::Read(b.clone()), out], layout, |_| ())?;
            }
            Some(&(operand, group)) => {
                let of = read(arguments, operand)?;
                let mut out = AnyViewMut::F32(MatrixViewMut::from_slice(&mut sums, m, n)?);
                matmul_weights::multiply(a, b, Some(Scales { of: &of, group }), &mut out, layout, |_| ())?;
            }
        }
        products.push(sums);
    }

    let products = products.iter().map(|sums| Ok(MatrixView::from_slice(sums, m, n)?.into()));
    let mut products = products.collect::<Result<Vec<Argument<'_>>>>()?;
    let mut operands = Operands::of_rows(m, n);
    products.iter_mut().try_for_each(|product| operands.add(product, Kind::Matrix))?;
    let others = arguments
        .iter_mut()
        .enumerate()
        .filter(|(number, _)| !factors.contains(number) && !scales.iter().any(|(operand, _)| operand == number));
    others.zip(kinds).try_for_each(|((_, argument), kind)| operands.add(argument, *kind))?;
    operands.compute_from(first_row, row)
}

/// The factor with that number.
fn read<'a>(arguments: &[Argument<'a>], factor: usize) -> Result<AnyView<'a>> {
    match arguments.get(factor) {
        Some(Argument::Read(view)) => Ok(view.clone()),
        _ => Err(refused()),
    }
}

pub(super) fn refused() -> Error {
    Error::Operands { kernel: "matmul".to_owned(), reason: "a product reads two matrices".to_owned() }
}
