//! Packing on the CPU: the numbers that `quantise`, `quantise_i8` and `quantise_with_zeros` make, a row after the other.

use super::elements::{Elements, ElementsMut, host_mut};
use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::operands::packed::{Grid, Numbers, pack_into};
use crate::{AnyViewMut, Argument, Error, Result};

fn refused(reason: &str) -> Error {
    Error::Operands { kernel: "packing".to_owned(), reason: reason.to_owned() }
}

/// Computes numbers, scales and, where there are some, zero points, in the order of the signature. `group`: numbers along K that share a
/// scale, or none where all of a row do.
///
/// # Errors
/// [`Error::Operands`] for other operands, [`Error::DeviceMismatch`] for one that is on a GPU, [`Error::OutOfMemory`].
pub fn packing(arguments: &mut [Argument<'_>], group: Option<usize>) -> Result<()> {
    let (w, packed, scales, zeros) = match arguments {
        [Argument::Read(w), Argument::Write(packed), Argument::Write(scales)] => (w, packed, scales, None),
        [
            Argument::Read(w),
            Argument::Write(packed),
            Argument::Write(scales),
            Argument::Write(AnyViewMut::I8(zeros)),
        ] => (w, packed, scales, Some(zeros)),
        _ => return Err(refused("it takes weights, numbers, scales and, of i4x2 in groups, zero points of i8")),
    };
    let (w, Layout { rows, columns: k, ld, .. }) = Elements::of(w)?;
    let group = group.unwrap_or(k);
    let groups = if group == k { 1 } else { k.checked_div(group).unwrap_or(0) };
    let mut packed = Packed::of(packed, zeros.is_some())?;
    let (mut scales, Layout { rows: of_scales, columns: scaled, ld: scales_ld, .. }) = ElementsMut::of(scales)?;
    let mut zeros = match zeros {
        Some(zeros) => {
            let layout = zeros.layout;
            Some((host_mut(&mut zeros.storage)?, layout))
        }
        None => None,
    };
    let fits = |of_groups: (usize, usize)| of_groups == (groups, rows);
    let zeros_fit = zeros.as_ref().is_none_or(|(_, layout)| fits((layout.rows, layout.columns)));
    if groups * group != k || packed.shape() != (rows, k) || !fits((of_scales, scaled)) || !zeros_fit {
        return Err(refused(
            "of weights [n, k] the numbers are [n, k] or, of 4 bits, [n, k / 2], and scales and zero points [k / group, n] or, of whole \
             rows, [n]",
        ));
    }

    let numbers = packed.numbers();
    let mut weights = alloc::host_empty(k)?;
    weights.resize(k, 0f32);
    let mut of_row: Vec<i8> = alloc::host_empty(k)?;
    for row in 0..rows {
        w.widen(row * ld, &mut weights);
        of_row.clear();
        for number in 0..groups {
            let of_group = &weights[number * group..(number + 1) * group];
            let grid @ Grid { scale, zero } = numbers.grid(of_group);
            of_row.extend(of_group.iter().map(|weight| numbers.number(grid, *weight)));
            scales.narrow(number * scales_ld + row, &[scale]);
            if let Some((zeros, layout)) = &mut zeros {
                zeros[number * layout.ld + row] = zero;
            }
        }
        packed.write(row, &of_row);
    }
    Ok(())
}

/// What is written of numbers.
enum Packed<'a> {
    Bytes(&'a mut [i8], Layout),
    Nibbles { data: &'a mut [crate::i4x2], layout: Layout, has_zeros: bool },
}

impl<'a> Packed<'a> {
    fn of(view: &'a mut AnyViewMut<'_>, has_zeros: bool) -> Result<Self> {
        match view {
            AnyViewMut::I8(view) if !has_zeros => Ok(Packed::Bytes(host_mut(&mut view.storage)?, view.layout)),
            AnyViewMut::I4x2(view) => {
                let layout = view.layout;
                Ok(Packed::Nibbles { data: host_mut(&mut view.storage)?, layout, has_zeros })
            }
            _ => Err(refused("weights become i8, or i4x2, which alone have zero points")),
        }
    }

    /// Rows, and numbers of each.
    fn shape(&self) -> (usize, usize) {
        match self {
            Packed::Bytes(_, layout) => (layout.rows, layout.columns),
            Packed::Nibbles { layout, .. } => (layout.rows, layout.columns.saturating_mul(2)),
        }
    }

    fn numbers(&self) -> Numbers {
        match self {
            Packed::Bytes(..) => Numbers::EIGHT_BITS,
            Packed::Nibbles { has_zeros: false, .. } => Numbers::FOUR_BITS,
            Packed::Nibbles { has_zeros: true, .. } => Numbers::FOUR_BITS_WITH_ZEROS,
        }
    }

    fn write(&mut self, row: usize, numbers: &[i8]) {
        match self {
            Packed::Bytes(data, Layout { ld, .. }) => data[row * *ld..][..numbers.len()].copy_from_slice(numbers),
            Packed::Nibbles { data, layout: Layout { ld, .. }, .. } => {
                pack_into(&mut data[row * *ld..][..numbers.len() / 2], numbers);
            }
        }
    }
}
