//! Schedules in JSON: the family's name and each knob by its own. Version 1 is read too: there knobs were nested
//! (`raster.group`), and those that are younger than a file were left out.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::Schedule;
use crate::family::Family;
use crate::knob::Knob;

const FAMILY: &str = "family";

impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.codes().len()))?;
        map.serialize_entry(FAMILY, self.family.name())?;
        for (knob, value) in self.knobs() {
            map.serialize_entry(knob.name, &knob.to_json(value))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Map::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn read(mut object: Map<String, Value>) -> Result<Schedule, String> {
    let family = read_family(object.remove(FAMILY))?;
    let untold: Vec<(usize, usize)> = told_by_others(&object, family).collect();
    let values: Vec<Result<u16, String>> = family.knobs().iter().map(|knob| read_knob(&mut object, knob)).collect();
    // A misspelt knob is missing too: what it is called says more.
    if let Some(unknown) = object.into_iter().find(|(_, value)| !is_empty(value)) {
        let known: Vec<&str> = family.knobs().iter().map(|knob| knob.name).collect();
        let (family, known) = (family.name(), known.join(", "));
        return Err(format!("family {family} has no knob `{}`; it has {known}", unknown.0));
    }
    let mut values = values.into_iter().collect::<Result<Vec<u16>, _>>()?;
    for (flag, by) in untold {
        values[flag] = u16::from(Some(values[by]) != family.knobs()[by].absent);
    }
    Schedule::new(family, values).ok_or_else(|| format!("a value that no knob of family {} has", family.name()))
}

/// The flags that the object leaves out and another knob tells, with that knob.
fn told_by_others(object: &Map<String, Value>, family: Family) -> impl Iterator<Item = (usize, usize)> + '_ {
    let left_out = family.knobs().iter().enumerate().filter(|(_, knob)| !object.contains_key(knob.name));
    left_out.filter_map(move |(flag, knob)| Some((flag, family.knob(knob.told_by?)?)))
}

fn read_family(value: Option<Value>) -> Result<Family, String> {
    let known = || Family::ALL.iter().map(|family| family.name()).collect::<Vec<_>>().join(", ");
    let name = value.ok_or_else(|| format!("a schedule names its `family`, one of {}", known()))?;
    let found = name.as_str().and_then(Family::from_name);
    found.ok_or_else(|| format!("there is no family {name}; the families are {}", known()))
}

fn read_knob(object: &mut Map<String, Value>, knob: &Knob) -> Result<u16, String> {
    let value = object.remove(knob.name).or_else(|| take_nested(object, knob.path_v1));
    match (value, knob.absent) {
        (Some(value), _) => knob
            .from_json(&value)
            .ok_or_else(|| format!("`{}` is {value}, which it cannot be; the rules allow {}", knob.name, knob.legal)),
        (None, Some(absent)) => Ok(absent),
        (None, None) => Err(format!("`{}` is missing; the rules allow {}", knob.name, knob.legal)),
    }
}

/// The value at `outer.inner`.
fn take_nested(object: &mut Map<String, Value>, path: &str) -> Option<Value> {
    let (outer, inner) = path.split_once('.')?;
    object.get_mut(outer)?.as_object_mut()?.remove(inner)
}

/// What is left of a nested object whose knobs were all read.
fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}
