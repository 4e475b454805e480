//! Whether a proposed schedule may be tried, and if not why: in the words that help the model most.

use autokernel_codegen::schedule::Schedule;
use serde_json::Value;

use super::rejection::Rejection;
use crate::llm::candidates::{Candidates, FamilyKnobs};

/// The schedule that `value` is.
///
/// # Errors
/// Why it cannot be tried.
pub fn admit(
    value: &Value,
    candidates: &Candidates,
    seen: &dyn Fn(&Schedule) -> bool,
    tried: &dyn Fn(&Schedule) -> bool,
) -> Result<Schedule, Rejection> {
    let knobs = family_of(value, candidates)?;
    let schedule: Schedule =
        serde_json::from_value(value.clone()).map_err(|error| format!("not a schedule: {error}"))?;
    // The rules explain more than a list of values does, so they come first.
    candidates.class().check(&schedule, candidates.arch()).map_err(|broken| broken.to_string())?;
    check_values(&schedule, knobs)?;
    if !candidates.contains(&schedule) {
        return Err("each value is legal but this combination is not among those recorded, and this is a replay".into());
    }
    if seen(&schedule) {
        return Err("duplicate: the same schedule is in this reply twice".into());
    }
    if tried(&schedule) {
        return Err(Rejection::AlreadyTried { schedule, became: None });
    }
    Ok(schedule)
}

fn family_of<'a>(value: &Value, candidates: &'a Candidates) -> Result<&'a FamilyKnobs, String> {
    let named = value.get("family").and_then(Value::as_str);
    let known: Vec<&str> = candidates.families().iter().map(|knobs| knobs.family.name()).collect();
    let known_list = known.join(" or ");
    let Some(named) = named else {
        return Err(format!("`family` is missing; it is {known_list}"));
    };
    let knobs = candidates.families().iter().find(|knobs| knobs.family.name() == named);
    knobs.ok_or_else(|| format!("family = {named:?} cannot be tried here; it is {known_list}"))
}

fn check_values(schedule: &Schedule, knobs: &FamilyKnobs) -> Result<(), String> {
    let mut values = schedule.codes().iter().zip(knobs.knobs());
    let Some((value, (knob, legal))) = values.find(|(value, (_, legal))| !legal.contains(value)) else { return Ok(()) };
    let legal: Vec<String> = legal.iter().map(|value| knob.to_json(*value).to_string()).collect();
    let (name, value) = (knob.name, knob.to_json(*value));
    Err(format!("{name} = {value} is not one of its legal values: {}", legal.join(", ")))
}
