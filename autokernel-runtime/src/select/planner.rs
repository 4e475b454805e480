//! Plans of one kernel for any extents.

use super::{Candidates, Plan, Target, plan};
use crate::check;
use crate::{Extents, KernelDescriptor, Result};

/// What launches of one kernel on one GPU choose. The candidates are worked out once and each choice is remembered, as by the launches
/// themselves; pure, so that it can be asked of a GPU that is not there.
#[derive(Debug)]
pub struct Planner<'k> {
    kernel: &'k KernelDescriptor,
    target: Target,
    candidates: Candidates,
}

impl<'k> Planner<'k> {
    /// Of `kernel` on `target`.
    ///
    /// # Errors
    /// Of [`Error`](crate::Error): `NotCompiled` without images, `WrongArch` if none runs on that GPU.
    pub fn new(kernel: &'k KernelDescriptor, target: Target) -> Result<Self> {
        let candidates = Candidates::new(kernel, &target)?;
        Ok(Planner { kernel, target, candidates })
    }

    /// The plan for some extents; [`plan_for`](crate::plan_for) says how one is chosen.
    ///
    /// # Errors
    /// Of [`Error`](crate::Error): `Dimensions`, `TooLarge`, `KnownDimension` and `Operands` for extents that the kernel does not
    /// take.
    pub fn plan(&self, extents: &Extents) -> Result<Plan<'k>> {
        let extents = check::check_extents(&self.kernel.name, &self.kernel.signature, extents)?;
        plan(self.kernel, &self.candidates, &self.target, &extents)
    }
}

/// The plan for some extents on a GPU; pure, so that it can be asked of a GPU that is not there.
///
/// The best architecture that runs is taken first (the latest capability, then the most specific instructions), then among its
/// variants the one tuned at exactly these extents on the same GPU; else one tuned for a range of sizes that holds them;
/// else the image of the portfolio that the model predicts to be fastest; without a portfolio the tuned one with the nearest
/// extents, else the safe default. What was tuned on other GPUs counts where no portfolio was measured on any GPU of that architecture.
/// A [`Planner`] does the same for many extents.
///
/// # Errors
/// Of [`Error`](crate::Error): `NotCompiled` without images, `WrongArch` if none runs on that GPU; `Dimensions`,
/// `TooLarge`, `KnownDimension` and `Operands` for extents that the kernel does not take.
pub fn plan_for<'k>(kernel: &'k KernelDescriptor, target: Target, extents: &Extents) -> Result<Plan<'k>> {
    Planner::new(kernel, target)?.plan(extents)
}
