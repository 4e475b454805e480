//! How a problem is computed: one typed schedule a kernel family, with its rules beside it.
//!
//! A schedule that passes [`Schedule::check`] compiles without spills and runs; that is the rules' contract
//! with the tuner, which searches nothing else.

use std::fmt;

pub use super::geometry::Geometry;
pub use super::raster::{Raster, RasterOrder};
pub use super::skinny::SkinnySchedule;
pub use super::sm80::Sm80Schedule;
pub use super::sm90::{Mode, Sm90Schedule};
pub use super::space;
use super::{skinny, sm80, sm90};
pub use crate::family::Family;
use crate::family::OtherFamily;
use crate::knob::{Kind, Knob};
use crate::rule;
pub use crate::rule::BrokenRule;

use crate::matmul::problem::Class;
use autokernel_core::Arch;

/// A schedule of one of the kernel families, with its knobs by name: what rules, plans and emission read. Everything
/// outside this room holds [`crate::Schedule`] instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Schedule {
    /// mma.sync and cp.async; sm_80 and later.
    Sm80(Sm80Schedule),
    /// wgmma and TMA; sm_90a alone.
    Sm90(Sm90Schedule),
    /// mma.sync on words from wherever rows begin; sm_80 and later.
    Skinny(SkinnySchedule),
}

impl Schedule {
    /// The kernel family.
    pub fn family(&self) -> Family {
        match self {
            Schedule::Sm80(_) => Family::Sm80,
            Schedule::Sm90(_) => Family::Sm90,
            Schedule::Skinny(_) => Family::SkinnySm80,
        }
    }

    /// The order of tiles, which a launch may change without a recompile.
    pub fn raster(&self) -> Raster {
        match self {
            Schedule::Sm80(schedule) => schedule.raster,
            Schedule::Sm90(schedule) => schedule.raster,
            Schedule::Skinny(schedule) => schedule.raster,
        }
    }

    /// Stages of the ring of operand tiles, or steps whose operands are on their way.
    pub fn stages(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.stages,
            Schedule::Sm90(schedule) => schedule.stages,
            Schedule::Skinny(schedule) => schedule.stages,
        }
    }

    /// The same schedule with another order of tiles: the same image.
    pub fn with_raster(mut self, raster: Raster) -> Self {
        match &mut self {
            Schedule::Sm80(schedule) => schedule.raster = raster,
            Schedule::Sm90(schedule) => schedule.raster = raster,
            Schedule::Skinny(schedule) => schedule.raster = raster,
        }
        self
    }

    /// Whether this schedule compiles and runs for `problem` on `arch`.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, problem: &Class, arch: Arch) -> Result<(), BrokenRule> {
        match self {
            Schedule::Sm80(schedule) => rule::check(sm80::RULES, schedule, problem, arch),
            Schedule::Sm90(schedule) => rule::check(sm90::RULES, schedule, problem, arch),
            Schedule::Skinny(schedule) => rule::check(skinny::RULES, schedule, problem, arch),
        }
    }

    /// What a launch must know. Meaningful for schedules that pass [`check`](Self::check).
    pub fn geometry(&self, problem: &Class) -> Geometry {
        match self {
            Schedule::Sm80(schedule) => schedule.geometry(problem),
            Schedule::Sm90(schedule) => schedule.geometry(problem),
            Schedule::Skinny(schedule) => schedule.geometry(problem),
        }
    }
}

impl From<Sm80Schedule> for Schedule {
    fn from(schedule: Sm80Schedule) -> Self {
        Schedule::Sm80(schedule)
    }
}

impl From<Sm90Schedule> for Schedule {
    fn from(schedule: Sm90Schedule) -> Self {
        Schedule::Sm90(schedule)
    }
}

impl From<SkinnySchedule> for Schedule {
    fn from(schedule: SkinnySchedule) -> Self {
        Schedule::Skinny(schedule)
    }
}

impl From<Schedule> for crate::Schedule {
    fn from(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Sm80(schedule) => schedule.into(),
            Schedule::Sm90(schedule) => schedule.into(),
            Schedule::Skinny(schedule) => schedule.into(),
        }
    }
}

impl TryFrom<&crate::Schedule> for Schedule {
    type Error = OtherFamily;

    fn try_from(schedule: &crate::Schedule) -> Result<Self, OtherFamily> {
        let sm80 = Sm80Schedule::try_from(schedule).map(Schedule::Sm80);
        let sm90 = || Sm90Schedule::try_from(schedule).map(Schedule::Sm90);
        let skinny = || SkinnySchedule::try_from(schedule).map(Schedule::Skinny);
        sm80.or_else(|OtherFamily| sm90()).or_else(|OtherFamily| skinny())
    }
}

impl fmt::Display for Schedule {
    /// One short line: `sm90 128x256 s4 c2 cooperative cluster 2x1 along_m/8`, with `swap_ab` and `split_k 4`
    /// before the raster where they are used, of an image that splits nothing `splits`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Sm80(s) => {
                let Sm80Schedule { tile_m, tile_n, tile_k, warps_m, warps_n, stages, raster } = s;
                write!(f, "sm80 {tile_m}x{tile_n}x{tile_k} s{stages} warps {warps_m}x{warps_n} {raster}")
            }
            Schedule::Skinny(s) => {
                let SkinnySchedule { tile_m, tile_n, tile_k, warps, stages, overlap, raster } = s;
                let overlap = if *overlap { "overlap " } else { "" };
                write!(f, "skinny_sm80 {tile_m}x{tile_n}x{tile_k} s{stages} warps {warps} {overlap}{raster}")
            }
            Schedule::Sm90(s) => {
                let Sm90Schedule { tile_m, tile_n, stages, consumers, mode, cluster_m, cluster_n, .. } = s;
                write!(f, "sm90 {tile_m}x{tile_n} s{stages} c{consumers} {} ", mode.name())?;
                write!(f, "cluster {cluster_m}x{cluster_n} ")?;
                let told = |knob: &Knob| knob.told_by == Some("split_k") && s.split_k > 1;
                for (knob, value) in Sm90Schedule::KNOBS.iter().zip(s.codes()).filter(|(knob, _)| !told(knob)) {
                    write_if_used(knob, value, f)?;
                }
                write!(f, "{}", s.raster)
            }
        }
    }
}

/// A knob that older schedules did without, where this one does not.
fn write_if_used(knob: &Knob, value: u16, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match knob.kind {
        _ if knob.absent.is_none_or(|absent| absent == value) => Ok(()),
        Kind::Flag => write!(f, "{} ", knob.name),
        Kind::Number => write!(f, "{} {value} ", knob.name),
        Kind::Choice(choices) => write!(f, "{} {} ", knob.name, choices[usize::from(value)].name),
    }
}

impl fmt::Display for Raster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.order.name(), self.group)
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
