//! Which GPU is emulated, and how strictly.

use autokernel_emulator::{Checks, Options};

use crate::{Arch, Error, Features, Result};

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
    pub(crate) fn instructions(&self) -> Result<autokernel_emulator::Arch> {
        match (self.arch.capability.major, self.arch.features) {
            (8, Features::Baseline) => Ok(autokernel_emulator::Arch::Sm80),
            (9, Features::Baseline | Features::Specific) => Ok(autokernel_emulator::Arch::Sm90a),
            _ => Err(Error::NotEmulated { arch: self.arch }),
        }
    }

    pub(crate) fn options(&self) -> Options {
        let Self { seed, races, uninitialised, instruction_budget, .. } = *self;
        Options { seed, checks: Checks { uninitialised, races }, instruction_budget }
    }
}
