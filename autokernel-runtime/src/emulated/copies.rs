//! Stand-ins for operands that a kernel cannot address where they are, as `gpu::align` makes them.

use autokernel_core::Alignment;
use autokernel_emulator::{DevicePointer, Gpu, Launch};

use super::kernel::{Run, emulated};
use crate::launch::pad_rows::{Args, RowCopy, THREADS};
use crate::launch::{MAX_OPERANDS, Region, standins};
use crate::{Dtype, Result, Role, Signature};

pub(super) use crate::launch::pad_rows::SYMBOL;

/// The stand-ins of one launch.
pub(super) struct Copies {
    copies: [Option<RowCopy>; MAX_OPERANDS],
}

impl Copies {
    /// Puts a stand-in into `regions` for each operand that does not lie as `alignments` ask, and copies the inputs to
    /// them: by the module's kernel where it has one.
    pub fn put(
        run: &mut Run<'_>,
        signature: &Signature,
        alignments: &[Alignment],
        regions: &mut [Region],
    ) -> Result<Self> {
        let Some((mut copies, bytes)) = standins::plan(signature, alignments, regions) else {
            return Ok(Self { copies: [None; MAX_OPERANDS] });
        };
        let scratch = run.gpu.alloc_named("the realigned operands", bytes).map_err(|error| emulated(SYMBOL, error))?;
        for (region, copy) in regions.iter_mut().zip(&mut copies) {
            let Some(RowCopy { target, .. }) = copy else { continue };
            target.address += scratch.0;
            *region = *target;
        }
        let copies = Self { copies };
        let mut inputs = copies.of(signature, Role::Input);
        while let Some((first, dtype)) = inputs.next() {
            if !run.can_realign() {
                copy_rows(&mut run.gpu, &first.source, &first.target, dtype)?;
                continue;
            }
            let second = inputs.next().map(|(copy, dtype)| copy.in_halves(dtype));
            let (args, grid) = Args::new(&first.in_halves(dtype), second.as_ref(), run.emulation.multiprocessors);
            run.launch(SYMBOL, &Launch::new(grid, [THREADS, 1, 1], args.to_bytes()))?;
        }
        drop(inputs);
        Ok(copies)
    }

    /// Copies what was computed in stand-ins to where it belongs, as the driver would.
    pub fn write_back(&self, gpu: &mut Gpu, signature: &Signature) -> Result<()> {
        let mut outputs = self.of(signature, Role::Output);
        outputs.try_for_each(|(RowCopy { source, target }, dtype)| copy_rows(gpu, target, source, dtype))
    }

    /// The stand-ins of one role, with their element types.
    fn of(&self, signature: &Signature, role: Role) -> impl Iterator<Item = (&RowCopy, Dtype)> {
        let operands = signature.operands.iter().zip(&self.copies);
        operands
            .filter_map(move |(operand, copy)| Some((copy.as_ref()?, operand.dtype)).filter(|_| operand.role == role))
    }
}

/// Copies the rows of one matrix to another of the same size.
fn copy_rows(gpu: &mut Gpu, source: &Region, target: &Region, dtype: Dtype) -> Result<()> {
    let row_bytes = source.columns * u64::from(dtype.bytes());
    for row in 0..source.rows {
        let at = |region: &Region| DevicePointer(region.address + row * region.stride);
        let copied = gpu.read(at(source), row_bytes).and_then(|bytes| gpu.write(at(target), &bytes));
        copied.map_err(|error| emulated("the copy of an operand", error))?;
    }
    Ok(())
}
