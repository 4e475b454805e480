//! Running the sample.

use std::collections::BTreeSet;
use std::path::Path;

use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_core::LaunchPlan;
use autokernel_runtime::emulator::{Memory, Report};
use autokernel_runtime::{EmulatedKernel, Emulation, Error};

use super::accesses::{Access, accesses, hot_lines, instructions};
use super::document::{Bytes, Emulated};
use super::reuse::{Launch, Reuse};
use super::sample::Sample;
use crate::folder;
use crate::gate::operands::{Operands, Rows};
use crate::gate::reason;
use crate::knobs::of_variant;
use crate::profile::error::ProfileError;
use crate::profile::kernel::Kernel;
use crate::profile::machine::Machine;
use crate::target::Target;

/// Seed of the inputs, whose values no counter depends on.
const SEED: u64 = 1;

/// Emulates a few tiles of `kernel`, and models the L2 cache of `machine` over all of them.
///
/// # Errors
/// There is no nvcc, or the kernel cannot be compiled or does something wrong.
pub fn profile(out: &Path, machine: &Machine, target: &Target, kernel: &Kernel) -> Result<Emulated, ProfileError> {
    let (source, plan) = target.problem.emit(&kernel.schedule).map_err(|other| refused(other.to_string()))?;
    let step = plan.kernels.last().ok_or_else(|| refused("nothing is launched".to_owned()))?;
    let sample = Sample::new(target, &step.grid);
    let cache = folder::kernels(out);
    let nvcc = Nvcc::locate(Path::new("."), &cache).map_err(|error| refused(error.to_string()))?;
    let image = Compiler::new(nvcc, cache).with_line_info().compile(&source, target.arch);
    let image = image.map_err(|error| refused(error.to_string()))?;
    let ptx = std::fs::read(&image.ptx).map_err(|error| refused(format!("{}: {error}", image.ptx.display())))?;
    let emulation = Emulation::new(target.arch).multiprocessors(2 * step.grid.cluster.max(1));
    let reports = launch(&emulation, target, &plan, &ptx, &sample).map_err(|error| refused(reason(error)))?;
    let report = reports.last().ok_or_else(|| refused("nothing is launched".to_owned()))?;
    Ok(Emulated {
        sample,
        realigning_kernels: reports.len() - 1,
        instructions: instructions(report),
        hot_lines: hot_lines(report),
        bytes: bytes(report),
        shared: accesses(report, Memory::Shared, |access| access.bank_conflicts),
        global: accesses(report, Memory::Global, Access::wasted_sectors),
        bulk: accesses(report, Memory::Bulk, |access| access.bytes),
        reuse: reuse(machine, target, kernel, &plan),
    })
}

fn launch(
    emulation: &Emulation,
    target: &Target,
    plan: &LaunchPlan,
    ptx: &[u8],
    sample: &Sample,
) -> Result<Vec<Report>, Error> {
    let signature = target.problem.signature();
    let kernel = EmulatedKernel::load(emulation, &signature, plan, ptx)?;
    let mut operands = Operands::new(&target.problem, signature.operands, &sample.shape, Rows::Dense, SEED);
    kernel.launch(&mut operands.arguments()?)
}

fn bytes(report: &Report) -> Bytes {
    let counters = &report.counters;
    Bytes {
        global_loaded: counters.global.loaded,
        global_stored: counters.global.stored,
        shared_loaded: counters.shared.loaded,
        shared_stored: counters.shared.stored,
        bulk_loaded: counters.bulk.loaded,
        bulk_stored: counters.bulk.stored,
        matrix_multiply_adds: counters.matrix_multiply_adds,
    }
}

/// The L2 cache over the whole launch, by this order of tiles and by the others of the same image.
fn reuse(machine: &Machine, target: &Target, kernel: &Kernel, plan: &LaunchPlan) -> Option<Reuse> {
    let grid = &plan.kernels.last()?.grid;
    let at_once = kernel.placement.slots / u64::from(grid.tiles.max(1));
    let (class, signature) = (target.problem.class(), target.problem.signature());
    let l2_bytes = machine.facts.l2_bytes;
    let launch = Launch { class: &class, signature: &signature, shape: target.shape, grid, at_once, l2_bytes };
    let own = kernel.schedule;
    let space = class.schedules(own.family(), target.arch);
    let orders: BTreeSet<Vec<_>> = space.iter().map(|other| of_variant(other).collect()).collect();
    let ordered =
        |knobs: &Vec<(&str, u16)>| knobs.iter().try_fold(own, |other, (name, value)| other.with(name, *value));
    let others = orders.iter().filter_map(ordered).filter(|other| *other != own);
    (kernel.occupancy.blocks_per_sm > 0).then(|| launch.reuse(&own, others))
}

fn refused(reason: String) -> ProfileError {
    ProfileError::Emulate(reason)
}
