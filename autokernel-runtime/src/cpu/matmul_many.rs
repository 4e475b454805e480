//! Many products with a body on the CPU: those of a batch, and of groups of rows, one after the other.

use std::ops::Range;

use autokernel_ops::body::Kind;
use autokernel_ops::matmul::problem::Layout;

use super::RowFunction;
use super::matmul_body::{GroupScales, Tables, matmul_body_from, refused};
use crate::{AnyView, Argument, Result};

/// As [`matmul_body_with`](super::matmul_body_with), for each product of a batch: `batched` tells of which arguments each has its own.
///
/// # Errors
/// As `matmul_body`.
pub fn matmul_body_of_batch(
    arguments: &mut [Argument<'_>],
    (batched, tables): (&[bool], Tables<'_>),
    factors: &[usize],
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let kinds_of_all = kinds_of_all(arguments.len(), None, (factors, &tables.operands()), kinds);
    let mut outputs = arguments.iter().filter(|argument| matches!(argument, Argument::Write(_)));
    // Of products without elements a broadcast may have more than anybody counts through.
    if outputs.clone().all(|output| output.layout().is_empty()) {
        return Ok(());
    }
    let products = outputs.next().map_or(0, |output| output.layout().shape()[1]);
    for product in 0..products {
        let of_product = |((argument, kind), is_batched): ((_, &Kind), &bool)| {
            if *is_batched { of_product(argument, *kind, product) } else { whole(argument) }
        };
        let of_all = arguments.iter_mut().zip(&kinds_of_all).zip(batched);
        let mut arguments = of_all.map(of_product).collect::<Result<Vec<_>>>()?;
        matmul_body_from(0, &mut arguments, (factors, tables), layout, kinds, row)?;
    }
    Ok(())
}

/// What numbers in memory say of the rows of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// How many rows of each product of a batch count, from the first on.
    Counted,
    /// Where groups of rows begin, and behind them where the last one ends.
    OfRows,
    /// The same of what is summed, the rows of both factors.
    AlongK,
}

/// As [`matmul_body_with`](super::matmul_body_with), for each group of rows: argument number `sizes` says which they are, and each has its
/// own of those that are `batched`.
///
/// # Errors
/// As `matmul_body`.
pub fn matmul_body_of_groups(
    arguments: &mut [Argument<'_>],
    (groups, sizes): (Groups, usize),
    (batched, tables): (&[bool], Tables<'_>),
    factors: &[usize],
    layout: Layout,
    kinds: &[Kind],
    row: RowFunction,
) -> Result<()> {
    let of_tables = tables.operands();
    let kinds_of_all = kinds_of_all(arguments.len(), Some(sizes), (factors, &of_tables), kinds);
    let a = factors.first().and_then(|factor| arguments.get(*factor)).ok_or_else(refused)?;
    let rows = groups.rows(numbers(arguments.get(sizes).ok_or_else(refused)?)?, of_a(a, layout, groups));
    let of_a = tables.blocks.and_then(|(operands, _)| operands.first().copied());
    let parts = Parts { groups, factors, tables: &of_tables, of_a, transposes_a: layout.transpose_a() };
    // As they are numbered without the sizes.
    let without_sizes = |number: usize| number - usize::from(number > sizes);
    let numbered: Vec<usize> = factors.iter().map(|factor| without_sizes(*factor)).collect();
    let scales = tables.scales.iter().map(|&GroupScales { scales, zeros, group }| GroupScales {
        scales: without_sizes(scales),
        zeros: zeros.map(without_sizes),
        group,
    });
    let scales: Vec<GroupScales> = scales.collect();
    let blocks: Option<(Vec<usize>, usize)> =
        tables.blocks.map(|(operands, block)| (operands.iter().map(|it| without_sizes(*it)).collect(), block));
    let blocks = blocks.as_ref().map(|(operands, block)| (&operands[..], *block));
    let tables = Tables { scales: &scales, blocks, ..tables };
    for (group, rows) in rows.into_iter().enumerate() {
        let of_group = |((argument, kind), is_batched): ((_, &Kind), &bool)| {
            if *is_batched { of_product(argument, *kind, group) } else { Ok(argument.reborrow()) }
        };
        let of_groups = arguments.iter_mut().zip(&kinds_of_all).zip(batched).map(of_group);
        let mut of_groups = of_groups.collect::<Result<Vec<_>>>()?;
        let others = of_groups.iter_mut().zip(&kinds_of_all).enumerate().filter(|(number, _)| *number != sizes);
        let cut = others.map(|(number, (argument, kind))| cut(argument, parts.cut(number, *kind), rows.clone()));
        let mut arguments = cut.collect::<Result<Vec<_>>>()?;
        let first_row = if groups == Groups::OfRows { rows.start } else { 0 };
        matmul_body_from(first_row, &mut arguments, (&numbered, tables), layout, kinds, row)?;
    }
    Ok(())
}

/// As many rows as groups may have of the first factor.
fn of_a(a: &Argument<'_>, layout: Layout, groups: Groups) -> usize {
    let a = a.layout();
    let counts_columns = groups == Groups::Counted && layout.transpose_a();
    if counts_columns { a.columns } else { a.rows }
}

impl Groups {
    /// The rows of each, as kernels take those numbers: an offset for at least the one before it, and all for at most the rows that
    /// there are.
    fn rows(self, numbers: &[i32], most: usize) -> Vec<Range<usize>> {
        let inside = |number: i32| usize::try_from(number).unwrap_or(0).min(most);
        if self == Groups::Counted {
            return numbers.iter().map(|&count| 0..inside(count)).collect();
        }
        let mut begin = 0;
        let bounds = numbers.iter().map(|&offset| {
            begin = inside(offset).max(begin);
            begin
        });
        let bounds: Vec<usize> = bounds.collect();
        bounds.windows(2).map(|bounds| bounds[0]..bounds[1]).collect()
    }
}

fn numbers<'a>(argument: &Argument<'a>) -> Result<&'a [i32]> {
    let Argument::Read(AnyView::I32(view)) = argument else { return Err(refused()) };
    view.storage.host().ok_or_else(refused)
}

/// Which of an argument's rows or columns the rows of a group are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Rows,
    Columns,
    Nowhere,
}

/// Which arguments the rows of groups divide.
struct Parts<'f> {
    groups: Groups,
    factors: &'f [usize],
    tables: &'f [usize],
    /// The scales of blocks of the first factor.
    of_a: Option<usize>,
    transposes_a: bool,
}

impl Parts<'_> {
    fn cut(&self, number: usize, kind: Kind) -> Cut {
        let is_factor = self.factors.contains(&number);
        let is_first = self.factors.first() == Some(&number);
        match self.groups {
            Groups::AlongK if is_factor => Cut::Rows,
            Groups::AlongK => Cut::Nowhere,
            _ if self.of_a == Some(number) => Cut::Rows,
            _ if self.tables.contains(&number) => Cut::Nowhere,
            _ if is_factor && !is_first => Cut::Nowhere,
            _ if is_first && self.transposes_a => Cut::Columns,
            _ if kind == Kind::Matrix => Cut::Rows,
            _ if kind == Kind::Column => Cut::Columns,
            _ => Cut::Nowhere,
        }
    }
}

/// What each argument is indexed by; factors are matrices, and so are their scales.
fn kinds_of_all(
    count: usize,
    offsets: Option<usize>,
    (factors, tables): (&[usize], &[usize]),
    kinds: &[Kind],
) -> Vec<Kind> {
    let mut others = kinds.iter();
    let kind = |number| match number {
        number if factors.contains(&number) || tables.contains(&number) => Some(Kind::Matrix),
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
    if matches!(argument, Argument::Write(_)) { Err(refused()) } else { Ok(argument.reborrow()) }
}

/// What the rows of a group are of an argument.
fn cut<'a>(argument: &'a mut Argument<'_>, cut: Cut, rows: Range<usize>) -> Result<Argument<'a>> {
    let kind = match cut {
        Cut::Rows => Kind::Matrix,
        Cut::Columns => Kind::Column,
        Cut::Nowhere => return Ok(argument.reborrow()),
    };
    match argument {
        Argument::Read(view) => view.of_rows(rows, kind).map(Argument::Read),
        Argument::Write(view) => view.of_rows(rows, kind).map(Argument::Write),
        Argument::Scalar(value) => Ok(Argument::Scalar(*value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, BatchView, Device, Matrix};

    #[test]
    fn products_without_elements_are_not_counted_through() {
        let (cpu, count) = (Device::cpu(), 1 << 40);
        let (x, w) = (Matrix::<f32>::zeros(&cpu, 1, 1).unwrap(), Matrix::<f32>::zeros(&cpu, 0, 1).unwrap());
        let mut out = Batch::<f32>::zeros(&cpu, [count, 1, 0]).unwrap();
        let mut arguments: [Argument<'_>; 3] =
            [BatchView::broadcast(&x, count).into(), BatchView::broadcast(&w, count).into(), (&mut out).into()];
        let never: RowFunction = |_, _, _| panic!("there is no row");
        let batched = (&[true; 3][..], Tables::default());
        matmul_body_of_batch(&mut arguments, batched, &[0, 1], Layout::Nt, &[Kind::Matrix], never).unwrap();
    }
}
