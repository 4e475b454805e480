//! Which compiled variant serves some extents on a GPU, and why.

mod basis;
mod candidates;
mod choice;
mod errors;
mod knobs;
mod planner;
mod ranking;
mod remembered;
mod target;

use std::fmt;

use autokernel_core::Ms;

use crate::descriptor::{image_for, symbol};
use crate::{Extents, Image, KernelDescriptor, KernelVariant, Result, Tuned};

pub use basis::Basis;
pub(crate) use candidates::Candidates;
pub(crate) use choice::Choice;
pub use choice::Reason;
pub(crate) use errors::wrong_arch;
pub(crate) use knobs::Knobs;
pub use planner::{Planner, plan_for};
pub use target::Target;

/// Where a kernel would run, with which schedule, and why. Its `Display` is one sentence.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Plan<'k> {
    /// On the CPU.
    Cpu,
    /// On a GPU.
    Gpu {
        /// The schedule that was chosen.
        variant: &'k KernelVariant,
        /// The image that would be loaded.
        image: Image<'static>,
        /// Why this schedule.
        reason: Reason,
        /// What the model ranks next, where it chose; what it would choose, where another one was measured to be faster.
        second: Option<&'k KernelVariant>,
        /// What the model rests on, where it chose.
        basis: Option<Basis<'k>>,
    },
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Gpu { variant, image, reason, second, basis } = self else {
            return f.write_str("on the CPU, in f32");
        };
        write!(f, "{} ({} for {}): ", symbol(&variant.plan), image.kind(), variant.arch)?;
        match (reason, &variant.tuned) {
            (Reason::Exact, Some(tuned)) => write!(f, "tuned for this shape {}", Provenance(tuned)),
            (Reason::Range, Some(tuned @ Tuned { range: Some(range), .. })) => {
                write!(f, "tuned for {range} {}", Provenance(tuned))
            }
            (Reason::Nearest { distance }, Some(tuned)) => {
                let factor = distance.exp();
                write!(f, "tuned for the nearest shape, {} ({factor:.2}x away), {}", tuned.extents, Provenance(tuned))
            }
            (Reason::Measured { ms, count, instead_of }, _) => {
                write!(f, "the fastest of {count} that were timed on this GPU, {}", Ms(*ms))?;
                match (second, instead_of) {
                    (Some(second), Some((_, ms))) => {
                        write!(f, "; chosen without, {}, {}", symbol(&second.plan), Ms(*ms))
                    }
                    _ => f.write_str(", as chosen without"),
                }
            }
            (Reason::Predicted { ms, second: runner_up }, _) => {
                write!(f, "predicted to be fastest of the portfolio, {}", Ms(*ms))?;
                if let (Some(second), Some((_, ms))) = (second, runner_up) {
                    write!(f, "; next {}, {}", symbol(&second.plan), Ms(*ms))?;
                }
                basis.map_or(Ok(()), |basis| basis.fmt(f))
            }
            _ => write!(f, "the safe default, as nothing was tuned for {}", variant.arch),
        }
    }
}

struct Provenance<'a>(&'a Tuned);

impl fmt::Display for Provenance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let autokernel_core::Provenance { gpu, date, median_ms, tflops, .. } = &self.0.provenance;
        write!(f, "on {gpu}, {date}: {}, {tflops:.1} TFLOP/s", Ms(*median_ms))
    }
}

/// The plan among candidates, for extents in the signature's order.
pub(crate) fn plan<'k>(
    kernel: &'k KernelDescriptor,
    candidates: &Candidates,
    target: &Target,
    extents: &Extents,
) -> Result<Plan<'k>> {
    let none = || wrong_arch(kernel, target);
    let Choice { variant, reason, .. } = candidates.choose(extents).ok_or_else(none)?;
    let variant = kernel.variants.get(variant).ok_or_else(none)?;
    let image = image_for(variant, target.capability).ok_or_else(none)?;
    let variant_of = |other: Option<(usize, f64)>| other.and_then(|(index, _)| kernel.variants.get(index));
    let (second, basis) = match reason {
        Reason::Predicted { second, .. } => {
            let portfolio = kernel.portfolios.iter().find(|portfolio| portfolio.arch == variant.arch);
            (variant_of(second), Some(Basis::of(portfolio, target)))
        }
        Reason::Measured { instead_of, .. } => (variant_of(instead_of), None),
        _ => (None, None),
    };
    Ok(Plan::Gpu { variant, image, reason, second, basis })
}
