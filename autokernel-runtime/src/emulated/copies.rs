//! Stand-ins for operands that a kernel cannot address where they are, as `gpu::align` makes them.

use autokernel_core::LaunchPlan;
use autokernel_emulator::{DevicePointer, Gpu, Launch};

use super::run::Run;
use crate::emulation::emulated;
use crate::launch::Region;
use crate::launch::pad_rows::{Args, RowCopy, SYMBOL, THREADS};
use crate::launch::standins::{self, Places};
use crate::{Dtype, Result, Signature};

/// Puts a stand-in into `regions` for each operand that does not lie as the plan asks, and copies what is read or left there: by
/// the module's kernel where it has one. None where every operand is used where it is.
pub(super) fn put(
    run: &mut Run<'_>,
    signature: &Signature,
    plan: &LaunchPlan,
    regions: &mut [Region],
) -> Result<Option<Places>> {
    let Some((mut places, bytes)) = standins::plan(signature, &plan.alignments, regions) else { return Ok(None) };
    let scratch = run.gpu.alloc_named("the realigned operands", bytes).map_err(|error| emulated(SYMBOL, error))?;
    places.put_at(scratch.0, regions);
    // The copies are of the same module, so they wait for earlier grids where its kernels do.
    let overlaps_previous = plan.kernels.iter().any(|kernel| kernel.overlaps_previous);
    let mut inputs = places.copied_before(signature);
    while let Some((first, dtype)) = inputs.next() {
        if !run.can_realign() {
            copy_rows(&mut run.gpu, &first.source, &first.target, dtype)?;
            continue;
        }
        let second = inputs.next().map(|(copy, dtype)| copy.in_units(dtype, places.narrowest));
        let (args, grid) =
            Args::new(&first.in_units(dtype, places.narrowest), second.as_ref(), run.emulation.multiprocessors);
        let launch = Launch { overlaps_previous, ..Launch::new(grid, [THREADS, 1, 1], args.to_bytes()) };
        run.launch(SYMBOL, &launch)?;
    }
    drop(inputs);
    Ok(Some(places))
}

/// Copies what was computed in stand-ins to where it belongs, as the driver would.
pub(super) fn write_back(gpu: &mut Gpu, signature: &Signature, places: &Places) -> Result<()> {
    let mut outputs = places.copied_back(signature);
    outputs.try_for_each(|(RowCopy { source, target }, dtype)| copy_rows(gpu, &target, &source, dtype))
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
