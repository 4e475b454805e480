//! The schedules a model may propose: their knobs, the values of each, and whether one may be tried.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::knob::Knob;
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::{Family, Schedule};

use crate::evaluate::Measurable;

/// The schedules of one problem class and arch that may be tried. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Candidates {
    class: ProblemClass,
    arch: Arch,
    schedules: Arc<HashSet<Schedule>>,
    families: Arc<Vec<FamilyKnobs>>,
    measurable: Measurable,
}

/// The knobs of one family with the values that occur.
#[derive(Clone, Debug)]
pub(super) struct FamilyKnobs {
    pub family: Family,
    /// In the order of the family's table.
    pub values: Vec<BTreeSet<u16>>,
}

impl FamilyKnobs {
    /// Its knobs, each with the values that occur.
    pub fn knobs(&self) -> impl Iterator<Item = (&'static Knob, &BTreeSet<u16>)> {
        self.family.knobs().iter().zip(&self.values)
    }
}

impl Candidates {
    /// `schedules`, for `class` on `arch`: a whole [`Space`](autokernel_codegen::schedule::space::Space), several, or
    /// those of a recording. Schedules that break a rule are left out. No others may be tried, unless
    /// [`Candidates::measurable`] says so.
    pub fn new(class: ProblemClass, arch: Arch, schedules: impl IntoIterator<Item = Schedule>) -> Self {
        let mut families: Vec<FamilyKnobs> = Vec::new();
        let mut distinct = HashSet::new();
        for schedule in schedules {
            if class.check(&schedule, arch).is_err() || !distinct.insert(schedule) {
                continue;
            }
            let family = schedule.family();
            let index = families.iter().position(|knobs| knobs.family == family).unwrap_or_else(|| {
                families.push(FamilyKnobs { family, values: vec![BTreeSet::new(); family.knobs().len()] });
                families.len() - 1
            });
            for (values, code) in families[index].values.iter_mut().zip(schedule.codes()) {
                values.insert(*code);
            }
        }
        Candidates {
            class,
            arch,
            schedules: Arc::new(distinct),
            families: Arc::new(families),
            measurable: Measurable::Space,
        }
    }

    /// The same, where these can be measured.
    pub fn measurable(self, measurable: Measurable) -> Self {
        Candidates { measurable, ..self }
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        self.schedules.len()
    }

    /// Whether none is listed.
    pub fn is_empty(&self) -> bool {
        self.schedules.is_empty()
    }

    /// The problem class.
    pub fn class(&self) -> &ProblemClass {
        &self.class
    }

    /// The arch.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether `schedule`, which keeps the rules, may be tried.
    pub fn contains(&self, schedule: &Schedule) -> bool {
        !self.only_listed() || self.schedules.contains(schedule)
    }

    /// Whether no combination of values may be tried but those that are listed.
    pub(super) fn only_listed(&self) -> bool {
        self.measurable == Measurable::Space
    }

    pub(super) fn families(&self) -> &[FamilyKnobs] {
        &self.families
    }
}
