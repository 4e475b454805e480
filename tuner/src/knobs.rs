//! The knobs of many schedules, side by side.

use std::collections::BTreeMap;

use autokernel_codegen::knob::{At, Knob};
use autokernel_codegen::schedule::Schedule;

/// What each of some schedules has for a knob.
#[derive(Clone, Debug)]
pub struct Column {
    /// The knob.
    pub knob: &'static Knob,
    /// Its value in each schedule; none where a family lacks it.
    pub codes: Vec<Option<u16>>,
}

/// The knobs by which a launch makes a variant of a form, with their values: of a product, the order of tiles.
pub fn of_variant(schedule: &Schedule) -> impl Iterator<Item = (&'static str, u16)> + '_ {
    let knobs = schedule.knobs().filter(|(knob, _)| knob.at == At::Launch && knob.search.is_variant);
    knobs.map(|(knob, value)| (knob.name, value))
}

/// A column for each knob of `schedules`, by name; families that call knobs alike share one.
pub fn columns(schedules: &[Schedule]) -> Vec<Column> {
    let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
    for (row, schedule) in schedules.iter().enumerate() {
        for (knob, code) in schedule.knobs() {
            let none = || Column { knob, codes: vec![None; schedules.len()] };
            columns.entry(knob.name).or_insert_with(none).codes[row] = Some(code);
        }
    }
    columns.into_values().collect()
}
