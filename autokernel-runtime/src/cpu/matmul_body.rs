//! Products with a body on the CPU: each product in `f32`, and what follows row by row, by the body's own Rust.

use autokernel_ops::body::Kind;

use super::RowFunction;
use super::matmul::matmul;
use super::rows::Operands;
use crate::{AnyView, Argument, Error, MatrixView, MatrixViewMut, Result, alloc};

/// Computes the outputs among `arguments`, which are in host memory: multiplies the first of the `factors` with each of the
/// others, which are stored as `[n, k]` if `transpose_b`, and hands each row of those products, before those of the other
/// operands, to `row`. `kinds` says how those are indexed.
///
/// # Errors
/// [`Error::Operands`] for operands of no such products, [`Error::DeviceMismatch`] for one that is on a GPU,
/// [`Error::OutOfMemory`].
pub fn matmul_body(
    arguments: &mut [Argument<'_>],
    factors: &[usize],
    transpose_b: bool,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let views = factors.iter().map(|factor| read(arguments, *factor)).collect::<Result<Vec<_>>>()?;
    let [a, first, ..] = &views[..] else { return Err(refused()) };
    let b_layout = Argument::Read(first.clone()).layout();
    let (m, n) = (Argument::Read(a.clone()).layout().rows, if transpose_b { b_layout.rows } else { b_layout.columns });
    if m == 0 || n == 0 {
        return Ok(());
    }
    let mut products = Vec::with_capacity(views.len() - 1);
    for b in &views[1..] {
        let mut sums = alloc::host_zeros::<f32>(m * n)?;
        let out = MatrixViewMut::from_slice(&mut sums, m, n)?.into();
        matmul(&mut [Argument::Read(a.clone()), Argument::Read(b.clone()), out], transpose_b, |sum| sum)?;
        products.push(sums);
    }

    let products = products.iter().map(|sums| Ok(MatrixView::from_slice(sums, m, n)?.into()));
    let mut products = products.collect::<Result<Vec<Argument<'_>>>>()?;
    let mut operands = Operands::of_rows(m, n);
    products.iter_mut().try_for_each(|product| operands.add(product, Kind::Matrix))?;
    let others = arguments.iter_mut().enumerate().filter(|(number, _)| !factors.contains(number));
    others.zip(kinds).try_for_each(|((_, argument), kind)| operands.add(argument, *kind))?;
    operands.compute(row)
}

/// The same for each product of a batch: `batched` tells of which arguments each has its own.
///
/// # Errors
/// As [`matmul_body`].
pub fn matmul_body_of_batch(
    arguments: &mut [Argument<'_>],
    batched: &[bool],
    factors: &[usize],
    transpose_b: bool,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let mut others = kinds.iter();
    let kind = |number| if factors.contains(&number) { Some(Kind::Matrix) } else { others.next().copied() };
    let kinds_of_all = (0..arguments.len()).map_while(kind).collect::<Vec<_>>();
    let outputs = arguments.iter().filter(|argument| matches!(argument, Argument::Write(_)));
    let products = outputs.map(|output| output.layout().shape()[1]).next().unwrap_or(0);
    for product in 0..products {
        let of_product =
            |((argument, kind), is_batched): ((_, &Kind), &bool)| of_product(argument, *kind, product, *is_batched);
        let of_all = arguments.iter_mut().zip(&kinds_of_all).zip(batched);
        let mut arguments = of_all.map(of_product).collect::<Result<Vec<_>>>()?;
        matmul_body(&mut arguments, factors, transpose_b, kinds, row)?;
    }
    Ok(())
}

/// What a product has of an argument.
fn of_product<'a>(
    argument: &'a mut Argument<'_>,
    kind: Kind,
    product: usize,
    is_batched: bool,
) -> Result<Argument<'a>> {
    match (argument, is_batched) {
        (Argument::Read(view), true) => view.of_product(product, kind).map(Argument::Read),
        (Argument::Read(view), false) => Ok(Argument::Read(view.clone())),
        (Argument::Write(view), true) => view.of_product(product, kind).map(Argument::Write),
        (Argument::Write(_), false) => Err(refused()),
        (Argument::Scalar(value), _) => Ok(Argument::Scalar(*value)),
    }
}

/// The factor with that number.
fn read<'a>(arguments: &[Argument<'a>], factor: usize) -> Result<AnyView<'a>> {
    match arguments.get(factor) {
        Some(Argument::Read(view)) => Ok(view.clone()),
        _ => Err(refused()),
    }
}

fn refused() -> Error {
    Error::Operands { kernel: "matmul".to_owned(), reason: "a product reads two matrices".to_owned() }
}
