//! The JSON schema of a reply: the knobs of each family with the values that may be tried.

use std::collections::BTreeSet;

use autokernel_codegen::knob::{Kind, Knob};
use serde_json::{Map, Value, json};

use crate::llm::candidates::{Candidates, FamilyKnobs};
use crate::llm::provider::JsonSchema;

/// The schema that a reply about `candidates` must follow. It keeps to what OpenAI's strict mode accepts:
/// every property required, none additional, choices as `anyOf` and `enum`.
pub fn wanted(candidates: &Candidates) -> JsonSchema {
    let mut families: Vec<Value> = candidates.families().iter().map(legal).collect();
    let schedule = if families.len() == 1 { families.remove(0) } else { json!({ "anyOf": families }) };
    let proposal = object([("why", json!({ "type": "string" })), ("schedule", schedule)]);
    let proposals = json!({ "type": "array", "items": proposal });
    JsonSchema { name: "proposals".to_owned(), schema: object([("proposals", proposals)]) }
}

fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let required = properties.each_ref().map(|(name, _)| *name).to_vec();
    let properties: Map<String, Value> =
        properties.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// What a schedule of `family` must look like. Strict mode wants every property in `required`, those with a default too.
fn legal(family: &FamilyKnobs) -> Value {
    let name = ("family".to_owned(), json!({ "type": "string", "enum": [family.family.name()] }));
    let knobs = family.knobs().map(|(knob, values)| (knob.name.to_owned(), one_of(knob, values)));
    let properties: Map<String, Value> = std::iter::once(name).chain(knobs).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn one_of(knob: &Knob, values: &BTreeSet<u16>) -> Value {
    let kind = match knob.kind {
        Kind::Number => "integer",
        Kind::Flag => "boolean",
        Kind::Choice(_) => "string",
    };
    let values: Vec<Value> = values.iter().map(|value| knob.to_json(*value)).collect();
    json!({ "type": kind, "enum": values })
}
