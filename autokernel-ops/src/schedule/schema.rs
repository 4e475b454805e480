//! The JSON schema of schedules, from the families' tables.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::Schedule;
use crate::family::Family;
use crate::knob::{Kind, Knob};

impl JsonSchema for Schedule {
    fn schema_name() -> Cow<'static, str> {
        "Schedule".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let families: Vec<Value> = Family::ALL.iter().map(|family| of_family(*family)).collect();
        let about = "A schedule of one of the kernel families; `family` says which.";
        Schema::try_from(json!({ "description": about, "oneOf": families })).expect("an object is a schema")
    }
}

fn of_family(family: Family) -> Value {
    let name = ("family".to_owned(), json!({ "type": "string", "const": family.name() }));
    let knobs = family.knobs().iter().map(|knob| (knob.name.to_owned(), of_knob(knob)));
    let properties: Map<String, Value> = std::iter::once(name).chain(knobs).collect();
    let required: Vec<&str> =
        family.knobs().iter().filter(|knob| knob.absent.is_none()).map(|knob| knob.name).collect();
    let required = [vec!["family"], required].concat();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn of_knob(knob: &Knob) -> Value {
    let mut schema = match knob.kind {
        Kind::Number => json!({ "type": "integer", "minimum": 0, "maximum": u16::MAX }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(choices) => {
            let choices = choices.iter();
            let choice = |choice: &crate::knob::Choice| json!({ "type": "string", "const": choice.name, "description": choice.meaning() });
            json!({ "oneOf": choices.map(choice).collect::<Vec<_>>() })
        }
    };
    schema["description"] = format!("{} Legal: {}.", knob.meaning(), knob.legal).into();
    if let Some(absent) = knob.absent {
        schema["default"] = knob.to_json(absent);
    }
    schema
}
