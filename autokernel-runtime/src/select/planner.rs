//! Plans of one kernel for any extents.

use super::{Candidates, Plan, Target, plan};
use crate::{Extents, KernelDescriptor, Result, check};

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
        Ok(Planner { kernel, target, candidates: Candidates::new(kernel, target)? })
    }

    /// The plan for some extents; [`plan_for`](crate::plan_for) says how one is chosen.
    ///
    /// # Errors
    /// Of [`Error`](crate::Error): `Dimensions`, `TooLarge` and `KnownDimension` for extents that the kernel does not take.
    pub fn plan(&self, extents: &Extents) -> Result<Plan<'k>> {
        let extents = check::check_extents(&self.kernel.name, &self.kernel.signature, extents)?;
        plan(self.kernel, &self.candidates, self.target, &extents)
    }
}
