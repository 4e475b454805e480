//! Products with a body on the CPU: each product in `f32`, and what follows row by row, by the body's own Rust.

use autokernel_ops::body::{Kind, Reduction};
use autokernel_ops::matmul::problem::Layout;

use super::RowFunction;
use super::blocks::sides;
use super::matmul::matmul;
use super::matmul_blocks::{self, Scaled};
use super::matmul_weights::{self, Scales};
use super::operands::{Operands, Own, unfitting};
use super::picks::Pick;
use crate::operands::alloc;
use crate::{AnyView, AnyViewMut, Argument, Error, MatrixView, MatrixViewMut, Result};

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
    matmul_body_from(0, arguments, (factors, Tables::default()), layout, kinds, row)
}

/// The scales of groups along K of a second factor, by the numbers of their arguments.
#[derive(Clone, Copy, Debug)]
pub struct GroupScales {
    /// The scales.
    pub scales: usize,
    /// The zero points, if there are some.
    pub zeros: Option<usize>,
    /// How many numbers a group has.
    pub group: usize,
}

/// What is read of a product beside its factors and what lies as its result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tables<'t> {
    /// The scales of groups along K of each second factor; none where they have none.
    pub scales: &'t [GroupScales],
    /// The arguments of scales of blocks of all factors, the first one's first, and how many numbers along K a block has.
    pub blocks: Option<(&'t [usize], usize)>,
    /// What is read elsewhere, by the numbers of the operands that `kinds` are of.
    pub picks: &'t [Pick],
    /// The number of the operand, of those that `kinds` are of, that scales of an output are written to, and how many columns a block has.
    pub made_scales: Option<(usize, usize)>,
    /// How what the rows give of each output becomes one number, in the outputs' order; none where each row has its own.
    pub folds: &'t [Option<Reduction>],
}

impl Tables<'_> {
    /// The arguments of scales and zero points, which are of no kind that a body knows.
    pub(super) fn operands(&self) -> Vec<usize> {
        let of_blocks = self.blocks.iter().flat_map(|(operands, _)| operands.iter().copied());
        let of_groups = self.scales.iter().flat_map(|it| [it.scales].into_iter().chain(it.zeros));
        of_groups.chain(of_blocks).collect()
    }
}

/// The same with tables.
///
/// # Errors
/// As [`matmul_body`].
pub fn matmul_body_with(
    arguments: &mut [Argument<'_>],
    tables: Tables<'_>,
    factors: &[usize],
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    matmul_body_from(0, arguments, (factors, tables), layout, kinds, row)
}

/// The same of rows whose numbers begin with `first_row`.
pub(super) fn matmul_body_from(
    first_row: usize,
    arguments: &mut [Argument<'_>],
    (factors, tables): (&[usize], Tables<'_>),
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let Tables { scales, blocks, picks, made_scales, folds } = tables;
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
        let mut out = MatrixViewMut::from_slice(&mut sums, m, n)?;
        match (blocks, scales.get(number)) {
            (None, None) => {
                matmul(&mut [Argument::Read(a.clone()), Argument::Read(b.clone()), out.into()], layout, |_| ())?;
            }
            (None, Some(&GroupScales { scales: operand, zeros, group })) => {
                let of = read(arguments, operand)?;
                let zeros = zeros.map(|operand| read(arguments, operand)).transpose()?;
                let scales = Scales { of: &of, zeros: zeros.as_ref(), group };
                matmul_weights::multiply(a, b, Some(scales), &mut AnyViewMut::F32(out), layout, |_| ())?;
            }
            (Some((operands, block)), _) => {
                let of = |number: usize| read(arguments, *operands.get(number).ok_or_else(refused)?);
                let (of_a, of_b) = (of(0)?, of(number + 1)?);
                let a = Scaled { factor: a, scales: &of_a, rows: 1 };
                let b = Scaled { factor: b, scales: &of_b, rows: block };
                matmul_blocks::multiply(a, b, block, &mut out, layout)?;
            }
        }
        products.push(sums);
    }

    let products = products.iter().map(|sums| Ok(MatrixView::from_slice(sums, m, n)?.into()));
    let mut products = products.collect::<Result<Vec<Argument<'_>>>>()?;
    let mut operands = Operands::of_rows(m, n);
    products.iter_mut().try_for_each(|product| operands.add(product, Kind::Matrix))?;
    let of_scales = tables.operands();
    let others =
        arguments.iter_mut().enumerate().filter(|(number, _)| !factors.contains(number) && !of_scales.contains(number));
    for (number, ((_, argument), kind)) in others.zip(kinds).enumerate() {
        if let Some((_, block)) = made_scales.filter(|(scales, _)| *scales == number) {
            operands.add_scales(argument, block)?;
            continue;
        }
        let columns = picks.iter().any(|pick| pick.operand == number && pick.has_own_columns());
        operands.add_own(argument, *kind, Own { rows: false, columns })?;
    }
    let behind_products = |pick: &Pick| Pick { operand: pick.operand + factors.len() - 1, ..*pick };
    picks.iter().try_for_each(|pick| operands.pick(behind_products(pick)).ok_or_else(unfitting))?;
    operands.fold(folds);
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
