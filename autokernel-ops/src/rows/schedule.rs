//! A schedule of one of the kernel families, with its knobs by name: what the room tells of either.

use std::fmt;

use autokernel_core::{Arch, LaunchPlan};

use super::plan::Shape;
use super::problem::{Class, Problem};
use super::sm80::{self, Sm80Schedule};
use super::sm90::{self, Sm90Schedule};
use crate::family::OtherFamily;
use crate::forecast::{Forecast, Machine};
use crate::rule::BrokenRule;
use crate::source::KernelSource;

/// A schedule of one of the kernel families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Schedule {
    /// Threads load what they read; sm_80 and later.
    Sm80(Sm80Schedule),
    /// Bulk copies bring rows; sm_90a alone.
    Sm90(Sm90Schedule),
}

impl Schedule {
    /// Whether it compiles without spills and runs.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &Class, arch: Arch) -> Result<(), BrokenRule> {
        match self {
            Schedule::Sm80(schedule) => schedule.check(class, arch),
            Schedule::Sm90(schedule) => schedule.check(class, arch),
        }
    }

    /// The kernel that computes `problem`, and its launch.
    pub fn kernel(&self, problem: &Problem) -> (KernelSource, LaunchPlan) {
        match self {
            Schedule::Sm80(schedule) => sm80::emit::kernel(problem, schedule),
            Schedule::Sm90(schedule) => sm90::emit::kernel(problem, schedule),
        }
    }

    /// Columns of a row that its threads hold.
    pub fn held_columns(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.held_columns(),
            Schedule::Sm90(schedule) => schedule.held_columns(),
        }
    }

    /// Columns of a vector.
    pub fn vector(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.vector,
            Schedule::Sm90(schedule) => schedule.vector,
        }
    }

    /// How its blocks are laid out.
    pub(super) fn shape(&self, class: &Class) -> Shape {
        match self {
            Schedule::Sm80(schedule) => sm80::emit::shape(schedule, class),
            Schedule::Sm90(schedule) => sm90::emit::shape(schedule, class),
        }
    }

    /// Its image on a GPU, for predictions.
    pub(super) fn forecast(self, class: &Class, machine: Machine) -> Box<dyn Forecast> {
        match self {
            Schedule::Sm80(schedule) => Box::new(sm80::Image { class: class.clone(), schedule, machine }),
            Schedule::Sm90(schedule) => Box::new(sm90::Image::new(class, schedule, machine)),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Sm80(schedule) => schedule.fmt(f),
            Schedule::Sm90(schedule) => schedule.fmt(f),
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

impl TryFrom<&crate::Schedule> for Schedule {
    type Error = OtherFamily;

    fn try_from(schedule: &crate::Schedule) -> Result<Self, OtherFamily> {
        let portable = Sm80Schedule::try_from(schedule).map(Schedule::Sm80);
        portable.or_else(|_| Sm90Schedule::try_from(schedule).map(Schedule::Sm90))
    }
}

impl From<Schedule> for crate::Schedule {
    fn from(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Sm80(schedule) => schedule.into(),
            Schedule::Sm90(schedule) => schedule.into(),
        }
    }
}
