//! Schedules as the values of their knobs, whatever these are called.

use std::collections::BTreeMap;

use autokernel_codegen::schedule::Schedule;

use crate::columns::{self, Columns};

/// For each schedule of a space and each knob, which of the knob's values it has.
///
/// The knobs are the leaves of a schedule's JSON, so a new knob needs no line here. A value counts apart in each
/// family: 128 rows of a tile mean something else to another kernel.
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
        Categories::of(&columns::from_schedules(schedules.iter()), schedules)
    }

    /// The same, of schedules whose JSON `columns` holds.
    pub fn of(columns: &Columns, schedules: &[Schedule]) -> Self {
        let families: Vec<_> = schedules.iter().map(Schedule::family).collect();
        let (mut codes, mut counts) = (Vec::new(), Vec::new());
        for values in columns.values() {
            let mut known = BTreeMap::new();
            let coded: Vec<u16> = families
                .iter()
                .zip(values)
                .map(|(family, value)| {
                    let next = known.len() as u16;
                    *known.entry((*family, value.to_string())).or_insert(next)
                })
                .collect();
            if known.len() > 1 {
                codes.push(coded);
                counts.push(known.len());
            }
        }
        Categories { codes, counts }
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
