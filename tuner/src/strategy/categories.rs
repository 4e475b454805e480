//! Schedules as the values of their knobs, whatever these mean.

use std::collections::BTreeMap;

use autokernel_codegen::schedule::Schedule;

use crate::knobs::{self, Column};

/// For each schedule of a space and each knob, which of the knob's values it has.
///
/// A value counts apart in each family: 128 rows of a tile mean something else to another kernel. Where there are several
/// families, the family counts as a knob, too.
#[derive(Clone, Debug)]
pub struct Categories {
    /// `codes[knob][schedule]`.
    codes: Vec<Vec<u16>>,
    /// `counts[knob]`: how many values it has.
    counts: Vec<usize>,
}

impl Categories {
    /// The categories of `schedules`. Knobs with a single value are left out.
    pub fn new(schedules: &[Schedule]) -> Self {
        Categories::of(&knobs::columns(schedules), schedules)
    }

    /// The same, of schedules whose knobs `columns` holds.
    pub fn of(columns: &[Column], schedules: &[Schedule]) -> Self {
        let mut categories = Categories { codes: Vec::new(), counts: Vec::new() };
        categories.push(schedules.iter().map(|schedule| schedule.family()));
        for column in columns {
            categories.push(schedules.iter().map(|schedule| schedule.family()).zip(&column.codes));
        }
        categories
    }

    fn push<V: Ord>(&mut self, values: impl Iterator<Item = V>) {
        let mut known = BTreeMap::new();
        let code = |value| {
            let next = known.len() as u16;
            *known.entry(value).or_insert(next)
        };
        let codes: Vec<u16> = values.map(code).collect();
        if known.len() > 1 {
            self.codes.push(codes);
            self.counts.push(known.len());
        }
    }

    /// How many values each knob has.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Which value of `knob` the schedule at `index` has.
    pub fn code(&self, knob: usize, index: usize) -> usize {
        usize::from(self.codes[knob][index])
    }

    /// How many knobs there are.
    pub fn knobs(&self) -> usize {
        self.counts.len()
    }
}
