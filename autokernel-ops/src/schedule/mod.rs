//! Schedules in the form that everything outside an operation's room holds: a family, and a number for each of its knobs.

mod json;
#[cfg(feature = "schema")]
mod schema;
mod typed;

use std::fmt;

use crate::family::Family;
use crate::knob::{At, Knob};

pub(crate) use typed::typed_schedules;

/// The most knobs that a family has.
pub const MAX_KNOBS: usize = 16;

/// A schedule of any family. Schedules order by family, then knob by knob in the order of the family's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Schedule {
    family: Family,
    /// Those beyond the family's knobs are 0.
    codes: [u16; MAX_KNOBS],
}

impl Schedule {
    /// The schedule of `family` whose knobs have these values, in the order of its table; knobs that are left out are 0.
    /// None if there are more values than knobs, or a knob cannot have its value.
    pub fn new(family: Family, values: impl IntoIterator<Item = u16>) -> Option<Self> {
        let mut codes = [0; MAX_KNOBS];
        for (at, value) in values.into_iter().enumerate() {
            let knob = family.knobs().get(at)?;
            codes[at] = Some(value).filter(|value| knob.takes(*value))?;
        }
        Some(Schedule { family, codes })
    }

    /// Its family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The values of its knobs, in the order of the family's table.
    pub fn codes(&self) -> &[u16] {
        &self.codes[..self.family.knobs().len()]
    }

    /// Its knobs with their values.
    pub fn knobs(&self) -> impl Iterator<Item = (&'static Knob, u16)> + '_ {
        self.family.knobs().iter().zip(self.codes().iter().copied())
    }

    /// The value of the knob called `name`, if the family has it.
    pub fn value(&self, name: &str) -> Option<u16> {
        self.family.knob(name).map(|at| self.codes[at])
    }

    /// Its knobs whose values are not those of `base`, in words: `stages 4 → 5, raster_group 8 → 16`. None if they are of
    /// different families.
    pub fn changes_from(&self, base: &Schedule) -> Option<String> {
        let changed = base.knobs().zip(self.knobs()).filter(|((_, old), (_, new))| old != new);
        let words = changed.map(|((knob, old), (_, new))| {
            let (old, new) = (knob.to_json(old), knob.to_json(new));
            format!("{} {old} → {new}", knob.name)
        });
        (self.family == base.family).then(|| words.collect::<Vec<_>>().join(", "))
    }

    /// The same schedule with another value of the knob called `name`; none if the family has no such knob, or the knob
    /// no such value.
    pub fn with(mut self, name: &str, value: u16) -> Option<Self> {
        let at = self.family.knob(name).filter(|at| self.family.knobs()[*at].takes(value))?;
        self.codes[at] = value;
        Some(self)
    }

    /// The schedule that stands for all that share its image: each knob that is set at launch has its first value.
    pub fn image(self) -> Self {
        self.with_first(|knob| knob.at == At::Launch)
    }

    /// Whether its image holds kernels for other schedules too, as that of several heights of tiles does: nvcc takes as long for it as for all
    /// of them.
    pub fn shares_its_image(&self) -> bool {
        self.value("rows_up_to").is_some_and(|rows| rows > 0)
    }

    /// The schedule that stands for those which differ from it in what makes a variant at launch alone: of a product, in the order
    /// of tiles. Another split of K is another form of one image.
    pub fn form(self) -> Self {
        self.with_first(|knob| knob.at == At::Launch && knob.search.is_variant)
    }

    fn with_first(mut self, of: impl Fn(&Knob) -> bool) -> Self {
        for (knob, code) in self.family.knobs().iter().zip(&mut self.codes) {
            if of(knob) {
                *code = knob.first();
            }
        }
        self
    }

    /// Its knobs that are set at launch, with their values: what [`LaunchPlan::set_knob`] takes.
    ///
    /// [`LaunchPlan::set_knob`]: autokernel_core::LaunchPlan::set_knob
    pub fn launch_knobs(&self) -> impl Iterator<Item = (&'static str, u16)> + '_ {
        self.knobs().filter(|(knob, _)| knob.at == At::Launch).map(|(knob, value)| (knob.name, value))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.family.write(self, f)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let knobs = self.knobs().map(|(knob, value)| (knob.name, knob.to_json(value).to_string()));
        write!(f, "{} ", self.family.name())?;
        f.debug_map().entries(knobs).finish()
    }
}

#[cfg(test)]
mod tests;
