//! The schedules that a search chooses from, whatever the operation.

use std::collections::HashSet;

use autokernel_core::Arch;

use crate::family::Family;
use crate::registry::Class;
use crate::schedule::Schedule;

/// The schedules of one family that a search chooses from for a class on an arch.
#[derive(Clone, Debug)]
pub struct Space {
    schedules: Vec<Schedule>,
}

impl Space {
    /// Every valid schedule of `family` for `class` on `arch`, in a fixed order; none of another operation's family.
    pub fn new(family: Family, class: &(impl Clone + Into<Class>), arch: Arch) -> Self {
        let class: Class = class.clone().into();
        Space { schedules: class.schedules(family, arch) }
    }

    /// The schedules.
    pub fn schedules(&self) -> &[Schedule] {
        &self.schedules
    }

    /// The distinct images among them: schedules that differ in launch-time knobs alone share one.
    pub fn images(&self) -> impl Iterator<Item = Schedule> + '_ {
        let mut seen = HashSet::new();
        self.schedules.iter().map(|schedule| schedule.image()).filter(move |image| seen.insert(*image))
    }

    /// The distinct forms among them: of an image one for each value of the launch-time knobs that make more than a variant.
    pub fn forms(&self) -> impl Iterator<Item = Schedule> + '_ {
        let mut seen = HashSet::new();
        self.schedules.iter().map(|schedule| schedule.form()).filter(move |form| seen.insert(*form))
    }
}
