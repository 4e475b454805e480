//! One launch plan with its PTX, and how it is carried out.

use std::sync::Arc;

use autokernel_core::{KernelStep, LaunchPlan};
use autokernel_emulator::{Gpu, Launch, Module, Report};

use super::copies;
use super::memory::Operands;
use super::{Emulation, tensor_map};
use crate::descriptor::{ptx_text, symbol};
use crate::launch::{MAX_OPERANDS, Parameter, Region, Sources, grid, rules, scalars_of};
use crate::select::Knobs;
use crate::{Argument, Error, Extents, Result, Signature, check};

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
    /// [`Error::Plan`] for a plan that cannot be carried out on this GPU; [`Error::Emulated`] for PTX that the
    /// interpreter does not know; [`Error::NotEmulated`].
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
        rules::check(signature, plan, emulation.target().shared_bytes)?;
        Ok(Self { emulation: emulation.clone(), signature: signature.clone(), plan: plan.clone(), module })
    }

    /// Computes the outputs among `arguments`, which are in host memory and in the order of the signature; gives what
    /// was counted in each kernel, copies that realign operands first.
    ///
    /// # Errors
    /// As [`Kernel::launch`](crate::Kernel::launch), and [`Error::Emulated`] with the first thing that a kernel did
    /// wrong.
    pub fn launch(&self, arguments: &mut [Argument<'_>]) -> Result<Vec<Report>> {
        let extents = check::check(symbol(&self.plan), &self.signature, arguments)?;
        check::check_devices(&self.signature, arguments, &crate::Device::cpu())?;
        self.launch_checked(&extents, &Knobs::NONE, arguments)
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
        for kernel in &plan.kernels {
            let sources = Sources { signature, regions, scalars: &scalars, extents, knobs };
            run.step(kernel, &sources)?;
        }
        if let Some(places) = standins {
            copies::write_back(&mut run.gpu, signature, &places)?;
        }
        operands.fetch(&mut run.gpu, arguments)?;
        Ok(run.reports)
    }
}

/// One launch under way.
pub(super) struct Run<'r> {
    pub gpu: Gpu,
    pub module: &'r Module,
    pub emulation: &'r Emulation,
    reports: Vec<Report>,
}

impl Run<'_> {
    /// Runs one kernel of the plan.
    fn step(&mut self, kernel: &KernelStep, sources: &Sources<'_>) -> Result<()> {
        let KernelStep { symbol, threads, shared_bytes, overlaps_previous, args, grid: shape, .. } = kernel;
        let blocks = grid::blocks(symbol, shape, sources.extents, self.emulation.multiprocessors.max(1))?;
        if blocks == 0 {
            return Ok(());
        }
        let mut parameter = Parameter::new();
        parameter
            .pack(args, sources, |_, transfer, region| tensor_map::encode(&self.gpu, symbol, &transfer, region))?;
        let launch = Launch {
            dynamic_shared: *shared_bytes,
            overlaps_previous: *overlaps_previous,
            ..Launch::new([blocks, 1, 1], [*threads, 1, 1], parameter.into_bytes(args))
        };
        self.launch(symbol, &launch)
    }

    /// Runs one kernel of the module.
    pub fn launch(&mut self, symbol: &str, launch: &Launch) -> Result<()> {
        let report = self.gpu.launch(self.module, symbol, launch, &self.emulation.options());
        self.reports.push(report.map_err(|error| emulated(symbol, error))?);
        Ok(())
    }

    /// Whether the module has the kernel that realigns operands.
    pub fn can_realign(&self) -> bool {
        self.module.kernel(copies::SYMBOL).is_some()
    }
}

/// Reads PTX.
///
/// # Errors
/// [`Error::Emulated`].
pub(super) fn parse(symbol: &str, ptx: &[u8]) -> Result<Module> {
    let text = ptx_text(ptx).map_err(|reason| emulated(symbol, reason))?;
    Module::parse(text).map_err(|error| emulated(symbol, error))
}

/// What went wrong on the emulated GPU.
pub(super) fn emulated(symbol: &str, reason: impl ToString) -> Error {
    Error::Emulated { symbol: symbol.to_owned(), reason: reason.to_string() }
}
