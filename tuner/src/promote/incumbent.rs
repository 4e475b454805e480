//! What a winner has to beat.

use autokernel_codegen::config::{Config, Entry, Provenance};
use autokernel_codegen::schedule::Schedule;

use super::origin::Origin;
use crate::bridge::distance;
use crate::target::Target;

/// What the build uses for a target today.
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from.
    pub origin: Origin,
    /// How it was measured, if it is the entry of exactly this target, which a winner would replace.
    pub provenance: Option<Provenance>,
}

impl Incumbent {
    /// Whether it is the entry of exactly this target.
    pub const fn is_exact(&self) -> bool {
        self.provenance.is_some()
    }

    /// The GPU on which it won its place in a final under load, if it did.
    pub fn won_on(&self) -> Option<&str> {
        self.provenance.as_ref().filter(|won| won.final_rounds > 0).map(|won| won.gpu.as_str())
    }
}

/// The schedule that a build with `config` uses for `target`: that of the entry nearest in shape, or the default.
pub fn incumbent(config: &Config, target: &Target) -> Incumbent {
    let class = target.problem.class();
    let entries = config.entries_for(&target.problem, target.arch);
    let near = entries
        .into_iter()
        .min_by(|a, b| distance(a.extents, target.shape).total_cmp(&distance(b.extents, target.shape)));
    match near {
        Some(Entry { problem, extents, schedule, provenance, .. }) => {
            let other = (*problem != class).then(|| problem.clone());
            let exact = *problem == class && *extents == target.shape;
            let provenance = exact.then(|| provenance.clone());
            Incumbent { schedule: *schedule, origin: Origin::Tuned { shape: *extents, other }, provenance }
        }
        None => {
            let (schedule, origin) = (class.default_schedule(target.arch), Origin::Default(target.arch));
            Incumbent { schedule, origin, provenance: None }
        }
    }
}
