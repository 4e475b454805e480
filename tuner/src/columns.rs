//! Schedules as the columns of a file, and back. What a schedule's JSON holds is what is written; files that are older
//! than the flat form name nested knobs by their paths, `raster.group`, which is still read.

use std::collections::BTreeMap;

use autokernel_codegen::schedule::Schedule;
use serde_json::{Map, Value};

/// A column a knob, by its name.
pub type Columns = BTreeMap<String, Vec<Value>>;

/// Columns that are no schedules.
#[derive(Debug, thiserror::Error)]
pub enum ColumnsError {
    /// Columns of one table must be equally long.
    #[error("column `{column}` has {rows} rows where {expected} schedules are listed")]
    Length {
        /// The column.
        column: String,
        /// Its length.
        rows: usize,
        /// The number of schedules.
        expected: usize,
    },
    /// A row is not a schedule.
    #[error("schedule {row} cannot be read: {reason}")]
    Schedule {
        /// The row, from 0.
        row: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// The columns of `schedules`; `null` where a schedule lacks the knob.
pub fn from_schedules<'s>(schedules: impl Iterator<Item = &'s Schedule>) -> Columns {
    let mut columns = Columns::new();
    for (row, schedule) in schedules.enumerate() {
        for (name, value) in to_map(schedule) {
            let column = columns.entry(name).or_default();
            column.resize(row, Value::Null);
            column.push(value);
        }
    }
    let rows = columns.values().map(Vec::len).max().unwrap_or(0);
    columns.values_mut().for_each(|column| column.resize(rows, Value::Null));
    columns
}

/// The schedules of `columns`, row by row.
pub fn to_schedules(columns: &Columns) -> Result<Vec<Schedule>, ColumnsError> {
    let rows = columns.values().map(Vec::len).max().unwrap_or(0);
    if let Some((column, values)) = columns.iter().find(|(_, values)| values.len() != rows) {
        return Err(ColumnsError::Length { column: column.clone(), rows: values.len(), expected: rows });
    }
    let schedule = |row: usize| {
        let mut object = Map::new();
        for (path, values) in columns.iter().filter(|(_, values)| !values[row].is_null()) {
            insert(&mut object, path, values[row].clone());
        }
        serde_json::from_value(Value::Object(object))
            .map_err(|error| ColumnsError::Schedule { row, reason: error.to_string() })
    };
    (0..rows).map(schedule).collect()
}

/// The knobs of one schedule, by their names.
pub fn to_map(schedule: &Schedule) -> Map<String, Value> {
    match serde_json::to_value(schedule) {
        Ok(Value::Object(members)) => members,
        _ => unreachable!("a schedule is an object with names for keys"),
    }
}

/// The schedule with these knobs.
pub fn from_map(knobs: &Map<String, Value>) -> Result<Schedule, serde_json::Error> {
    let mut object = Map::new();
    for (path, value) in knobs {
        insert(&mut object, path, value.clone());
    }
    serde_json::from_value(Value::Object(object))
}

fn insert(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            object.insert(path.to_owned(), value);
        }
        Some((head, tail)) => {
            let member = object.entry(head).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(member) = member {
                insert(member, tail, value);
            }
        }
    }
}
