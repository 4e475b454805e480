//! Launches of declared kernels.

use super::kernel::EmulatedKernel;
use super::target;
use crate::descriptor::symbol;
use crate::emulation::Emulator;
use crate::select::{self, Candidates};
use crate::{Argument, Extents, KernelDescriptor, Plan, Result};

impl Emulator {
    /// Which variant of a kernel serves some extents, in the signature's order, and why.
    pub fn plan<'k>(&self, descriptor: &'k KernelDescriptor, extents: &Extents) -> Result<Plan<'k>> {
        let target = target::of(self.emulation());
        select::plan(descriptor, &Candidates::new(descriptor, &target)?, &target, extents)
    }

    /// Launches a declared kernel on operands that were checked; gives the number of its variant.
    ///
    /// # Errors
    /// As of a GPU, and [`Error::Emulated`](crate::Error::Emulated) for what the interpreter refuses or finds wrong.
    pub fn launch(
        &self,
        descriptor: &KernelDescriptor,
        extents: &Extents,
        arguments: &mut [Argument<'_>],
    ) -> Result<usize> {
        let target = target::of(self.emulation());
        let no_variant = || select::wrong_arch(descriptor, &target);
        let choice = Candidates::new(descriptor, &target)?.choose(extents).ok_or_else(no_variant)?;
        let variant = descriptor.variants.get(choice.variant).ok_or_else(no_variant)?;
        let ptx = variant.image.map_or(&b""[..], |images| images.ptx);
        let module = self.module(symbol(&variant.plan), ptx)?;
        let kernel = EmulatedKernel::of_module(self.emulation(), &descriptor.signature, &variant.plan, module)?;
        kernel.launch_checked(extents, &choice.knobs, arguments)?;
        Ok(choice.variant)
    }
}
