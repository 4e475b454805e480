//! How a problem is computed: one typed schedule a kernel family, with its rules beside it.
//!
//! A schedule that passes [`Schedule::check`] compiles without spills and runs; that is the rules' contract
//! with the tuner, which searches nothing else.

pub use super::geometry::Geometry;
pub use super::raster::{Raster, RasterOrder};
pub use super::skinny::SkinnySchedule;
pub use super::sm80::Sm80Schedule;
pub use super::sm90::{Mode, Sm90Schedule};
pub use super::space;
use super::{skinny, sm80, sm90};
pub use crate::family::Family;
use crate::matmul::problem::Class;
pub use crate::rule::BrokenRule;
use crate::schedule::typed_schedules;

typed_schedules! {
    Class;
    /// mma.sync and cp.async; sm_80 and later.
    Sm80(Sm80Schedule, sm80::RULES),
    /// wgmma and TMA; sm_90a alone.
    Sm90(Sm90Schedule, sm90::RULES),
    /// mma.sync on words from wherever rows begin; sm_80 and later.
    Skinny(SkinnySchedule, skinny::RULES),
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

    /// What a launch must know. Meaningful for schedules that pass [`check`](Self::check).
    pub fn geometry(&self, problem: &Class) -> Geometry {
        match self {
            Schedule::Sm80(schedule) => schedule.geometry(problem),
            Schedule::Sm90(schedule) => schedule.geometry(problem),
            Schedule::Skinny(schedule) => schedule.geometry(problem),
        }
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
