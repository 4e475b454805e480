//! Products of rows that an index picks, on the CPU.

use super::matmul_body::refused;
use super::picks::Picked;
use crate::operands::alloc;
use crate::operands::types::with_view;
use crate::{AnyView, Argument, MatrixView, Number, Result};

/// Calls `multiply` with the arguments but the index, number `index`, which picks rows of the first factor, number `a`: in its place are
/// the rows that are picked, and zeros for those that are not there.
///
/// # Errors
/// Those of `multiply`, [`Error::Operands`](crate::Error::Operands) for operands of no such product,
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn matmul_gathered(
    arguments: &mut [Argument<'_>],
    (index, a): (usize, usize),
    multiply: impl FnOnce(&mut [Argument<'_>]) -> Result<()>,
) -> Result<()> {
    let rows = arguments.get(a).map_or(0, |argument| argument.layout().rows);
    let (Some(Argument::Read(AnyView::I32(picked))), Some(Argument::Read(view))) =
        (arguments.get(index), arguments.get(a))
    else {
        return Err(refused());
    };
    let picked = Picked { index: picked.storage.host().ok_or_else(refused)?, rows };
    with_view!(AnyView to AnyView, view.clone(), (view, of) => {
        let rows = gathered(&view, picked)?;
        let gathered = of(MatrixView::from_slice(&rows, picked.index.len(), view.ncols())?);
        let others = arguments.iter_mut().enumerate().filter(|(number, _)| *number != index);
        let all = others.map(|(number, argument)| {
            if number == a { Argument::Read(gathered.clone()) } else { argument.reborrow() }
        });
        multiply(&mut all.collect::<Vec<_>>())
    })
}

/// The rows of `view` that are picked, one after the other.
fn gathered<T: Number>(view: &MatrixView<'_, T>, picked: Picked<'_>) -> Result<Vec<T>> {
    let (data, columns, ld) = (view.storage.host().ok_or_else(refused)?, view.ncols(), view.ld());
    let mut rows = alloc::host_zeros(picked.index.len() * columns)?;
    for (number, to) in rows.chunks_exact_mut(columns.max(1)).enumerate() {
        if let Some(row) = picked.row(number) {
            to.copy_from_slice(&data[row * ld..][..columns]);
        }
    }
    Ok(rows)
}
