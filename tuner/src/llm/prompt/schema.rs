//! The JSON schema of a reply: the schedules' own schema, narrowed to the values that may be tried.

use autokernel_codegen::schedule::{Family, Schedule};
use schemars::generate::SchemaSettings;
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

/// The documented schema of `family`'s schedules, as codegen derives it.
pub fn documented(family: Family) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let root = settings.into_generator().into_root_schema_for::<Schedule>().to_value();
    let variants = root["oneOf"].as_array().cloned().unwrap_or_default();
    let is_family = |variant: &Value| variant["properties"]["family"]["const"] == family.name();
    variants.into_iter().find(is_family).unwrap_or_default()
}

fn legal(family: &FamilyKnobs) -> Value {
    narrow("", &documented(family.family), family)
}

/// `schema` with the legal values of each knob, and nothing that the glossary says already.
fn narrow(path: &str, schema: &Value, family: &FamilyKnobs) -> Value {
    let Some(properties) = schema["properties"].as_object() else {
        let values = family.values.get(path).map_or(&[][..], Vec::as_slice);
        let kind = match values.first() {
            Some(Value::String(_)) => "string",
            Some(Value::Bool(_)) => "boolean",
            _ => "integer",
        };
        return json!({ "type": kind, "enum": values });
    };
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| (name.clone(), narrow(&below(name), schema, family))).collect();
    // Strict mode wants every property in `required`, those with a default too.
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
