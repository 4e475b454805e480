//! One launch plan with its PTX, and how it is carried out.

use std::sync::Arc;

use autokernel_core::{KernelStep, LaunchPlan};
use autokernel_emulator::{Gpu, Module, Report};

use super::copies;
use super::memory::Operands;
use super::run::Run;
use super::target;
use super::workspace::Workspace;
use crate::check;
use crate::descriptor::symbol;
use crate::emulation::{Emulation, parse};
use crate::launch::workspace::Needs;
use crate::launch::{MAX_OPERANDS, Region, Sources, grid, rules, scalars_of};
use crate::select::Knobs;
use crate::{Argument, Extents, Result, Signature};

/// One compiled schedule on an emulated GPU: what [`CompiledKernel`](crate::CompiledKernel) is on a real one.
#[derive(Debug)]
pub struct EmulatedKernel {
    emulation: Emulation,
    signature: Signature,
    plan: LaunchPlan,
    module: Arc<Module>,
}

impl EmulatedKernel {
    /// Reads the PTX in which a plan's kernels were compiled.
    ///
    /// # Errors
    /// [`Error::Plan`](crate::Error::Plan) for a plan that cannot be carried out on this GPU; [`Error::Emulated`](crate::Error::Emulated) for PTX that the
    /// interpreter does not know; [`Error::NotEmulated`](crate::Error::NotEmulated).
    pub fn load(emulation: &Emulation, signature: &Signature, plan: &LaunchPlan, ptx: &[u8]) -> Result<Self> {
        let module = Arc::new(parse(symbol(plan), ptx)?);
        Self::of_module(emulation, signature, plan, module)
    }

    pub(super) fn of_module(
        emulation: &Emulation,
        signature: &Signature,
        plan: &LaunchPlan,
        module: Arc<Module>,
    ) -> Result<Self> {
        emulation.instructions()?;
        rules::check(signature, plan, target::of(emulation).shared_bytes)?;
        Ok(Self { emulation: emulation.clone(), signature: signature.clone(), plan: plan.clone(), module })
    }

    /// Computes the outputs among `arguments`, which are in host memory and in the order of the signature; gives what
    /// was counted in each kernel, copies that realign operands first.
    ///
    /// # Errors
    /// As [`Kernel::launch`](crate::Kernel::launch), and [`Error::Emulated`](crate::Error::Emulated) with the first thing that a kernel did
    /// wrong.
    pub fn launch(&self, arguments: &mut [Argument<'_>]) -> Result<Vec<Report>> {
        let extents = check::launch(symbol(&self.plan), &self.signature, arguments, &crate::Device::cpu())?;
        self.launch_checked(&extents, &Knobs::NONE, arguments)
    }

    /// Blocks of the kernel that has most.
    fn most_blocks(&self, extents: &Extents, knobs: &Knobs) -> Result<u32> {
        let blocks = |kernel: &KernelStep| grid::blocks(kernel, knobs, extents, self.emulation.multiprocessors.max(1));
        self.plan.kernels.iter().try_fold(0, |most, kernel| Ok(blocks(kernel)?.max(most)))
    }

    /// A launch whose operands were checked.
    pub(super) fn launch_checked(
        &self,
        extents: &Extents,
        knobs: &Knobs,
        arguments: &mut [Argument<'_>],
    ) -> Result<Vec<Report>> {
        let Self { emulation, signature, plan, module } = self;
        let mut gpu = Gpu::new(emulation.instructions()?);
        let operands = Operands::place(&mut gpu, signature, arguments)?;
        let mut regions = [Region::default(); MAX_OPERANDS];
        let (regions, scalars) = (operands.regions(arguments, &mut regions), scalars_of(arguments));
        let mut run = Run { gpu, module, emulation, reports: Vec::new() };
        let standins = copies::put(&mut run, signature, plan, regions)?;
        let needs = Needs::new(&plan.workspace, extents, self.most_blocks(extents, knobs)?.into());
        let memory = Workspace::new(&mut run.gpu, symbol(plan), needs)?;
        for kernel in &plan.kernels {
            let workspace = memory.addresses();
            let sources = Sources { signature, regions, scalars: &scalars, extents, knobs, workspace };
            run.step(kernel, &sources)?;
        }
        memory.check(&mut run.gpu, symbol(plan))?;
        if let Some(places) = standins {
            copies::write_back(&mut run.gpu, signature, &places)?;
        }
        operands.fetch(&mut run.gpu, arguments)?;
        Ok(run.reports)
    }
}
