//! Many products with a body on the CPU: those of a batch, and of groups of rows, one after the other.

use std::ops::Range;

use autokernel_ops::body::Kind;
use autokernel_ops::matmul::problem::Layout;

use super::RowFunction;
use super::matmul_body::{matmul_body, matmul_body_from, refused};
use crate::view::Storage;
use crate::{AnyView, Argument, Result};

/// As [`matmul_body`], for each product of a batch: `batched` tells of which arguments each has its own.
///
/// # Errors
/// As [`matmul_body`].
pub fn matmul_body_of_batch(
    arguments: &mut [Argument<'_>],
    batched: &[bool],
    factors: &[usize],
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let kinds_of_all = kinds_of_all(arguments.len(), None, factors, kinds);
    let outputs = arguments.iter().filter(|argument| matches!(argument, Argument::Write(_)));
    let products = outputs.map(|output| output.layout().shape()[1]).next().unwrap_or(0);
    for product in 0..products {
        let of_product = |((argument, kind), is_batched): ((_, &Kind), &bool)| {
            if *is_batched { of_product(argument, *kind, product) } else { whole(argument) }
        };
        let of_all = arguments.iter_mut().zip(&kinds_of_all).zip(batched);
        let mut arguments = of_all.map(of_product).collect::<Result<Vec<_>>>()?;
        matmul_body(&mut arguments, factors, layout, kinds, row)?;
    }
    Ok(())
}

/// As [`matmul_body`], for each group of rows: argument number `offsets` says where they begin, and each has its own of those
/// that are `batched`.
///
/// # Errors
/// As [`matmul_body`].
pub fn matmul_body_of_groups(
    arguments: &mut [Argument<'_>],
    offsets: usize,
    batched: &[bool],
    factors: &[usize],
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let kinds_of_all = kinds_of_all(arguments.len(), Some(offsets), factors, kinds);
    let a = factors.first().and_then(|factor| arguments.get(*factor)).ok_or_else(refused)?;
    let groups = groups(arguments.get(offsets).ok_or_else(refused)?, a.layout().rows)?;
    // As they are numbered without the offsets.
    let factors: Vec<usize> = factors.iter().map(|factor| factor - usize::from(*factor > offsets)).collect();
    for (group, rows) in groups.into_iter().enumerate() {
        let of_group = |((argument, kind), is_batched): ((_, &Kind), &bool)| {
            if *is_batched { of_product(argument, *kind, group) } else { of_rows(argument, *kind, rows.clone()) }
        };
        let of_all = arguments.iter_mut().zip(&kinds_of_all).zip(batched).enumerate();
        let others = of_all.filter(|(number, _)| *number != offsets).map(|(_, of_one)| of_group(of_one));
        let mut arguments = others.collect::<Result<Vec<_>>>()?;
        matmul_body_from(rows.start, &mut arguments, (&factors, &[]), layout, kinds, row)?;
    }
    Ok(())
}

/// The rows of each group, as kernels take offsets: each for at least the one before it, and at most the rows that there are.
fn groups(offsets: &Argument<'_>, rows: usize) -> Result<Vec<Range<usize>>> {
    let Argument::Read(AnyView::I32(view)) = offsets else { return Err(refused()) };
    let Storage::Host(offsets) = &view.storage else { return Err(refused()) };
    let mut begin = 0;
    let bounds = offsets.iter().map(|&offset| {
        begin = usize::try_from(offset).unwrap_or(0).min(rows).max(begin);
        begin
    });
    let bounds: Vec<usize> = bounds.collect();
    Ok(bounds.windows(2).map(|bounds| bounds[0]..bounds[1]).collect())
}

/// What each argument is indexed by; factors are matrices.
fn kinds_of_all(count: usize, offsets: Option<usize>, factors: &[usize], kinds: &[Kind]) -> Vec<Kind> {
    let mut others = kinds.iter();
    let kind = |number| match number {
        number if factors.contains(&number) => Some(Kind::Matrix),
        number if Some(number) == offsets => Some(Kind::Index),
        _ => others.next().copied(),
    };
    (0..count).map_while(kind).collect()
}

/// What product `number` has of an argument of which each has its own.
fn of_product<'a>(argument: &'a mut Argument<'_>, kind: Kind, number: usize) -> Result<Argument<'a>> {
    match argument {
        Argument::Read(view) => view.of_product(number, kind).map(Argument::Read),
        Argument::Write(view) => view.of_product(number, kind).map(Argument::Write),
        Argument::Scalar(value) => Ok(Argument::Scalar(*value)),
    }
}

/// What all products read.
fn whole<'a>(argument: &'a mut Argument<'_>) -> Result<Argument<'a>> {
    match argument {
        Argument::Read(view) => Ok(Argument::Read(view.clone())),
        Argument::Write(_) => Err(refused()),
        Argument::Scalar(value) => Ok(Argument::Scalar(*value)),
    }
}

/// Some rows of an argument that has some.
fn of_rows<'a>(argument: &'a mut Argument<'_>, kind: Kind, rows: Range<usize>) -> Result<Argument<'a>> {
    match (argument, kind) {
        (argument, Kind::Row | Kind::Scalar | Kind::DeviceScalar) => whole(argument),
        (Argument::Read(view), kind) => view.of_rows(rows, kind).map(Argument::Read),
        (Argument::Write(view), kind) => view.of_rows(rows, kind).map(Argument::Write),
        (Argument::Scalar(value), _) => Ok(Argument::Scalar(*value)),
    }
}
