//! A schedule as its knobs. Knows none of them by name: they are what its JSON holds.

use autokernel_codegen::schedule::{Raster, RasterOrder, Schedule};
use serde_json::Value;

/// The knobs of `schedule` by path, the family among them, in the order of its fields' names: `("raster.group", 8)`.
pub fn of(schedule: &Schedule) -> Vec<(String, Value)> {
    leaves(serde_json::to_value(schedule).expect("schedules have only string keys"))
}

/// The leaves of `value` with their paths.
pub fn leaves(value: Value) -> Vec<(String, Value)> {
    let mut leaves = Vec::new();
    flatten("", value, &mut leaves);
    leaves
}

/// The schedule with the raster that stands for all: schedules that differ in it alone share a compiled image.
pub fn image(schedule: &Schedule) -> Schedule {
    schedule.with_raster(Raster { order: RasterOrder::AlongM, group: 1 })
}

fn flatten(prefix: &str, value: Value, leaves: &mut Vec<(String, Value)>) {
    let Value::Object(members) = value else {
        leaves.push((prefix.to_owned(), value));
        return;
    };
    for (name, member) in members {
        let path = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        flatten(&path, member, leaves);
    }
}
