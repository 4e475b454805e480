//! An emulated GPU: the launch path of a GPU, carried out by the interpreter of `autokernel-emulator`.
//!
//! Operands are checked, realigned, described by tensor maps and divided into blocks by the same code as for a GPU; what
//! differs is who is told. Matrices live in host memory, and a launch has finished when it returns.

mod copies;
mod kernel;
mod memory;
mod tensor_map;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use autokernel_emulator::{Checks, Module, Options};
use rustc_hash::FxHashMap;

use crate::descriptor::symbol;
use crate::select::{self, Candidates};
use crate::{Arch, Argument, Error, Extents, Features, KernelDescriptor, Plan, Result, Target};

pub use autokernel_emulator as emulator;
pub use kernel::EmulatedKernel;

/// An emulated GPU, for [`Device::emulated_with`](crate::Device::emulated_with).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Emulation {
    /// What it runs: `sm_80`, or `sm_90a` with TMA and wgmma.
    pub arch: Arch,
    /// Its multiprocessors. 4 unless told otherwise: so few that small products too give a persistent block several tiles.
    pub multiprocessors: u32,
    /// In which order warps run and asynchronous operations finish. With 0, the default, operations finish as late as
    /// they may; any other seed draws an order.
    pub seed: u64,
    /// Whether accesses that nothing orders are faults. On by default; about half of the time that a launch takes.
    pub races: bool,
    /// Whether reads of what nobody wrote are faults. On by default.
    pub uninitialised: bool,
    /// Instructions of warps after which a kernel is stopped: 2³² unless told otherwise, minutes to hours.
    pub instruction_budget: u64,
}

impl Emulation {
    /// A GPU of that architecture.
    pub const fn new(arch: Arch) -> Self {
        Self { arch, multiprocessors: 4, seed: 0, races: true, uninitialised: true, instruction_budget: 1 << 32 }
    }

    /// With that many multiprocessors, at least one.
    #[must_use]
    pub const fn multiprocessors(self, multiprocessors: u32) -> Self {
        Self { multiprocessors, ..self }
    }

    /// With that order of warps and of asynchronous operations.
    #[must_use]
    pub const fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// With nothing checked but bounds and alignment: quicker, for kernels that are known to be right.
    #[must_use]
    pub const fn trusting(self) -> Self {
        Self { races: false, uninitialised: false, ..self }
    }

    /// With another limit of instructions.
    #[must_use]
    pub const fn instruction_budget(self, instruction_budget: u64) -> Self {
        Self { instruction_budget, ..self }
    }

    /// The instruction set that the interpreter has for the architecture.
    ///
    /// # Errors
    /// [`Error::NotEmulated`] for one that it lacks.
    fn instructions(&self) -> Result<emulator::Arch> {
        match (self.arch.capability.major, self.arch.features) {
            (8, Features::Baseline) => Ok(emulator::Arch::Sm80),
            (9, Features::Baseline | Features::Specific) => Ok(emulator::Arch::Sm90a),
            _ => Err(Error::NotEmulated { arch: self.arch }),
        }
    }

    fn options(&self) -> Options {
        let Self { seed, races, uninitialised, instruction_budget, .. } = *self;
        Options { seed, checks: Checks { uninitialised, races }, instruction_budget }
    }

    /// What decides which variants of a kernel run on it.
    fn target(&self) -> Target {
        Target { capability: self.arch.capability, shared_bytes: self.arch.shared_bytes_per_block(), sheet: None }
    }
}

/// The emulated GPU behind a [`Device`](crate::Device).
pub(crate) struct Emulator {
    emulation: Emulation,
    /// What was parsed, by the address and length of the embedded text.
    modules: Mutex<FxHashMap<(usize, usize), Arc<Module>>>,
}

impl Emulator {
    /// # Errors
    /// [`Error::NotEmulated`].
    pub fn new(emulation: Emulation) -> Result<Self> {
        emulation.instructions()?;
        Ok(Self { emulation, modules: Mutex::default() })
    }

    pub const fn emulation(&self) -> &Emulation {
        &self.emulation
    }

    /// Which variant of a kernel serves some extents, in the signature's order, and why.
    pub fn plan<'k>(&self, descriptor: &'k KernelDescriptor, extents: &Extents) -> Result<Plan<'k>> {
        let target = self.emulation.target();
        select::plan(descriptor, &Candidates::new(descriptor, target)?, target, extents)
    }

    /// Launches a declared kernel on operands that were checked; gives the number of its variant.
    ///
    /// # Errors
    /// As of a GPU, and [`Error::Emulated`] for what the interpreter refuses or finds wrong.
    pub fn launch(
        &self,
        descriptor: &KernelDescriptor,
        extents: &Extents,
        arguments: &mut [Argument<'_>],
    ) -> Result<usize> {
        let target = self.emulation.target();
        let no_variant = || select::wrong_arch(descriptor, target);
        let choice = Candidates::new(descriptor, target)?.choose(extents).ok_or_else(no_variant)?;
        let variant = descriptor.variants.get(choice.variant).ok_or_else(no_variant)?;
        let ptx = variant.image.map_or(&b""[..], |images| images.ptx);
        let module = self.module(symbol(&variant.plan), ptx)?;
        let kernel = EmulatedKernel::of_module(&self.emulation, &descriptor.signature, &variant.plan, module)?;
        kernel.launch_checked(extents, &choice.knobs, arguments)?;
        Ok(choice.variant)
    }

    /// The module of an embedded text, parsed at its first use.
    fn module(&self, symbol: &str, ptx: &'static [u8]) -> Result<Arc<Module>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (ptx.as_ptr().addr(), ptx.len());
        if let Some(module) = modules.get(&key) {
            return Ok(module.clone());
        }
        let module = Arc::new(kernel::parse(symbol, ptx)?);
        modules.insert(key, module.clone());
        Ok(module)
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.emulation.fmt(f)
    }
}
