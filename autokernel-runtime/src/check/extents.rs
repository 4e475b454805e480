//! The size of each dimension, wherever an operand has it along an axis.

use autokernel_core::{Coarse, Dim, OWN_AXIS};

use crate::{Argument, Error, Extents, Operand, Passed, Result, Signature};

/// The largest size of a dimension that a kernel takes.
///
/// Kernels count in 32-bit signed integers and round up to whole tiles; the gap to 2³¹ leaves room for that.
pub const MAX_EXTENT: u32 = i32::MAX as u32 - 0xffff;

/// The axes of an argument, of a matrix the last two. An operand of one axis is given as a matrix of one row.
pub(super) const ARGUMENT_AXES: usize = 4;
/// The axes of a batch of matrices.
pub(super) const BATCH_AXES: usize = 3;
/// Where a dimension was first met: an operand, and which of the axes of its argument.
#[derive(Clone, Copy)]
struct Place {
    operand: usize,
    axis: usize,
}

/// The size of each dimension that the operands have together.
///
/// # Errors
/// Of [`Error`]: `Operands`, `ShapeMismatch`, `TooLarge`.
pub(super) fn extents(kernel: &str, signature: &Signature, arguments: &[Argument<'_>]) -> Result<Extents> {
    let mut sizes = Sizes::of(kernel, signature, arguments);
    for (number, (operand, argument)) in signature.operands.iter().zip(arguments).enumerate() {
        let shape = argument.layout().shape();
        let first = ARGUMENT_AXES.saturating_sub(operand.axes.len());
        for (at, (&dim, &size)) in operand.axes.iter().zip(&shape[first..]).enumerate() {
            sizes.add(operand, dim, at, Met { size, at: Place { operand: number, axis: first + at } })?;
        }
    }
    sizes.check_ragged()?;
    sizes.extents()
}

/// A size, and where it is that of an axis.
#[derive(Clone, Copy)]
struct Met {
    size: usize,
    at: Place,
}

/// Blocks along a dimension, the last of which may be a part of one.
struct Ragged {
    dim: u8,
    blocks: Met,
    /// Indices of the dimension that a block stands for.
    indices: u32,
}

/// What is known while one operand after the other is looked at.
struct Sizes<'s, 'a> {
    kernel: &'s str,
    signature: &'s Signature,
    arguments: &'s [Argument<'a>],
    /// Of each dimension, as it was met first.
    found: [Option<Met>; autokernel_core::MAX_RANK],
    ragged: Vec<Ragged>,
}

impl<'s, 'a> Sizes<'s, 'a> {
    fn of(kernel: &'s str, signature: &'s Signature, arguments: &'s [Argument<'a>]) -> Self {
        Sizes { kernel, signature, arguments, found: [None; autokernel_core::MAX_RANK], ragged: Vec::new() }
    }

    /// Adds axis `number` of an operand, which is along `dim`.
    fn add(&mut self, operand: &Operand, dim: u8, number: usize, met: Met) -> Result<()> {
        let size = if operand.passed == Passed::Bounds { self.parts(operand, met.size)? } else { met.size };
        let met = Met { size, ..met };
        // Of what stands for several indices there are fewer.
        match self.signature.coarse(met.at.operand, number) {
            None => self.note(operand, dim, met),
            Some(&Coarse { indices, together, is_ragged, .. }) => {
                whole_units(self.kernel, &operand.name, size, together)?;
                if is_ragged {
                    self.ragged.push(Ragged { dim, blocks: met, indices });
                    return Ok(());
                }
                self.note(operand, dim, Met { size: size.saturating_mul(indices as usize), ..met })
            }
        }
    }

    /// How many parts so many bounds have between them.
    fn parts(&self, operand: &Operand, bounds: usize) -> Result<usize> {
        let missing = || {
            format!(
                "`{}` is empty; bounds are one more than the parts between them, so pass one at least",
                operand.name
            )
        };
        bounds.checked_sub(1).ok_or_else(|| self.refused(missing()))
    }

    /// Notes the size of a dimension, which is that of all other operands.
    fn note(&mut self, operand: &Operand, dim: u8, met: Met) -> Result<()> {
        if dim == OWN_AXIS {
            return countable(self.kernel, met.size, || format!("the size of `{}`", operand.name));
        }
        let no_dimension = || format!("`{}` has a dimension number {dim}, which its signature does not", operand.name);
        let Some(slot) = self.found.get_mut(usize::from(dim)) else { return Err(self.refused(no_dimension())) };
        let known = *slot.get_or_insert(met);
        if known.size == met.size {
            return Ok(());
        }
        let [first, second] = [known.at, met.at].map(|place| self.describe(place));
        let (kernel, dim) = (self.kernel.to_owned(), self.name(dim));
        Err(Error::ShapeMismatch { kernel, dim, first, second, sizes: (known.size, met.size) })
    }

    /// Refuses other than as many blocks as cover their dimension.
    fn check_ragged(&self) -> Result<()> {
        for &Ragged { dim, blocks: Met { size, at }, indices } in &self.ragged {
            let whole = self.found.get(usize::from(dim)).copied().flatten();
            let expected = whole.map_or(size, |whole| whole.size.div_ceil(indices.max(1) as usize));
            if size != expected {
                let (place, dim) = (self.describe(at), self.name(dim));
                return Err(self.refused(format!(
                    "{place} are {size}, and {expected} blocks of {indices} cover `{dim}`; pass one for each"
                )));
            }
        }
        Ok(())
    }

    /// The extents. A dimension that no operand has along an axis was compiled in, or counts as 1.
    fn extents(&self) -> Result<Extents> {
        for (dim, size) in self.sizes() {
            countable(self.kernel, size, || format!("`{dim}`"))?;
        }
        let extents = Extents::collect(self.sizes().map(|(dim, size)| (dim, size as u32)));
        extents.ok_or_else(|| self.refused("its signature names a dimension twice".to_owned()))
    }

    fn sizes(&self) -> impl Iterator<Item = (Dim, usize)> {
        self.signature.dims.iter().zip(&self.found).map(|(dimension, found)| {
            (dimension.name, found.map_or(dimension.known.unwrap_or(1) as usize, |met| met.size))
        })
    }

    fn name(&self, dim: u8) -> String {
        self.signature.dims.get(usize::from(dim)).map_or(String::new(), |dim| dim.name.to_string())
    }

    fn describe(&self, place: Place) -> String {
        describe(self.signature, self.arguments, place)
    }

    fn refused(&self, reason: String) -> Error {
        Error::Operands { kernel: self.kernel.to_owned(), reason }
    }
}

/// Refuses a part of elements that stand for what they do together.
fn whole_units(kernel: &str, operand: &str, size: usize, together: u32) -> Result<()> {
    if size.is_multiple_of(together.max(1) as usize) {
        return Ok(());
    }
    let reason = format!(
        "rows of `{operand}` have {size} elements, and {together} stand together; pass whole rows of what `pack` gave"
    );
    Err(Error::Operands { kernel: kernel.to_owned(), reason })
}

/// `the columns of `a` (2x3)`.
fn describe(signature: &Signature, arguments: &[Argument<'_>], place: Place) -> String {
    let (Some(operand), Some(argument)) = (signature.operands.get(place.operand), arguments.get(place.operand)) else {
        return String::new();
    };
    let [first, second, rows, columns] = argument.layout().shape();
    let axis = if place.axis + 1 == ARGUMENT_AXES { "columns" } else { "rows" };
    let number = (place.axis + operand.axes.len()).saturating_sub(ARGUMENT_AXES);
    match operand.axes.len() {
        1 if operand.passed == Passed::Bounds => format!("the length of `{}`, less one", operand.name),
        1 => format!("the length of `{}`", operand.name),
        2 => format!("the {axis} of `{}` ({rows}x{columns})", operand.name),
        BATCH_AXES if argument.layout().is_heads => {
            format!("axis {} of `{}` ({first}x{second}x{rows}x{columns})", place.axis, operand.name)
        }
        BATCH_AXES if number == 0 => format!("the matrices of `{}` ({second}x{rows}x{columns})", operand.name),
        BATCH_AXES => format!("the {axis} of `{}` ({second}x{rows}x{columns})", operand.name),
        _ => format!("axis {number} of `{}` ({first}x{second}x{rows}x{columns})", operand.name),
    }
}

/// Refuses a size that a kernel cannot count.
pub(super) fn countable(kernel: &str, size: usize, what: impl FnOnce() -> String) -> Result<()> {
    if size <= MAX_EXTENT as usize {
        return Ok(());
    }
    let what = format!("{} of kernel `{kernel}`", what());
    Err(Error::TooLarge { what, given: size as u128, max: u128::from(MAX_EXTENT) })
}
