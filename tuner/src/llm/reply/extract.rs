//! What in a reply looks like a proposal.

use autokernel_codegen::schedule::Family;
use serde_json::{Map, Value};

use super::lenient;
use crate::llm::error::{excerpt, shorten};

/// Names under which models put their list.
const LISTS: [&str; 4] = ["proposals", "schedules", "configs", "candidates"];
/// Deepest nesting in which proposals are looked for.
const MAX_DEPTH: usize = 8;
/// Most characters of a rejected proposal that are repeated.
const TEXT_CHARS: usize = 300;

/// A proposal as it was written.
pub struct Raw {
    pub schedule: Value,
    pub why: String,
}

impl Raw {
    /// The schedule's JSON, shortened.
    pub fn text(&self) -> String {
        shorten(&self.schedule.to_string(), TEXT_CHARS)
    }
}

/// The proposals in `text`; `None` if there is neither one nor an empty list of them.
pub fn proposals(text: &str) -> Option<Vec<Raw>> {
    // Reasoning models that think aloud write drafts there.
    let answer = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
    search(answer).or_else(|| search(text))
}

fn search(text: &str) -> Option<Vec<Raw>> {
    let (mut found, mut any_list) = (Vec::new(), false);
    for value in lenient::values(text) {
        collect(value, 0, &mut found, &mut any_list);
    }
    (any_list || !found.is_empty()).then_some(found)
}

fn collect(value: Value, depth: usize, found: &mut Vec<Raw>, any_list: &mut bool) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(items) => items.into_iter().for_each(|item| collect(item, depth + 1, found, any_list)),
        Value::Object(members) => object(members, depth, found, any_list),
        _ => {}
    }
}

fn object(mut members: Map<String, Value>, depth: usize, found: &mut Vec<Raw>, any_list: &mut bool) {
    let why = members.get("why").and_then(Value::as_str).map(excerpt).unwrap_or_default();
    if let Some(schedule) = members.remove("schedule") {
        found.push(Raw { schedule, why });
        return;
    }
    if is_schedule(&members) {
        members.remove("why");
        found.push(Raw { schedule: Value::Object(members), why });
        return;
    }
    *any_list |= LISTS.iter().any(|list| members.get(*list).is_some_and(Value::is_array));
    members.into_iter().for_each(|(_, member)| collect(member, depth + 1, found, any_list));
}

/// Whether this is a schedule without a wrapper: it names its family, or has half of the knobs of one.
fn is_schedule(members: &Map<String, Value>) -> bool {
    let has_half = |family: &Family| {
        let knobs = family.knobs();
        2 * knobs.iter().filter(|knob| members.contains_key(knob.name)).count() >= knobs.len()
    };
    members.get("family").is_some_and(Value::is_string) || Family::ALL.iter().any(has_half)
}
