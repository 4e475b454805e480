//! A schedule of one of the kernel families, with its knobs by name: what the room tells of either.

use autokernel_core::LaunchPlan;

use super::plan::Shape;
use super::problem::{Class, Problem};
use super::sm80::{self, Sm80Schedule};
use super::sm90::{self, Sm90Schedule};
use crate::forecast::{Forecast, Machine};
use crate::schedule::typed_schedules;
use crate::source::KernelSource;

typed_schedules! {
    Class;
    /// Threads load what they read; sm_80 and later.
    Sm80(Sm80Schedule, sm80::RULES),
    /// Bulk copies bring rows; sm_90a alone.
    Sm90(Sm90Schedule, sm90::RULES),
}

impl Schedule {
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
