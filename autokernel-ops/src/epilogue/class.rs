//! What schedules must know of an epilogue.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Epilogue, cost_of};
use crate::expr::Cost;

/// Epilogues that are tuned as one: those of one name and cost, whatever the values of their parameters.
///
/// The cost is that of the body and not of the name, so that somebody's own `relu` may cost more than ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "Json"))]
#[serde(from = "Json", into = "Json")]
pub struct EpilogueClass {
    name: String,
    cost: Cost,
}

/// An epilogue class in JSON: the name of a built-in epilogue, or a name with what the body costs. A name alone that is
/// none of ours counts as the costliest.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Json {
    Name(String),
    Costed(Costed),
}

/// An epilogue that is not built in.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Costed {
    /// Its name.
    name: String,
    /// What its body costs a thread.
    cost: Cost,
}

impl EpilogueClass {
    /// Its epilogues' name: `leaky_relu`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What their body costs a thread.
    pub fn cost(&self) -> Cost {
        self.cost
    }
}

impl Epilogue {
    /// The epilogues that are tuned together with this one.
    pub fn class(&self) -> EpilogueClass {
        EpilogueClass { name: self.name.clone(), cost: self.function.cost() }
    }
}

impl fmt::Display for EpilogueClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl From<Json> for EpilogueClass {
    fn from(json: Json) -> Self {
        match json {
            Json::Name(name) => EpilogueClass { cost: cost_of(&name), name },
            Json::Costed(Costed { name, cost }) => EpilogueClass { name, cost },
        }
    }
}

impl From<EpilogueClass> for Json {
    fn from(class: EpilogueClass) -> Self {
        let EpilogueClass { name, cost } = class;
        if cost_of(&name) == cost { Json::Name(name) } else { Json::Costed(Costed { name, cost }) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(json: Value) -> EpilogueClass {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_class_of_a_built_in_epilogue_is_its_name_in_json() {
        for epilogue in Epilogue::all() {
            let class = epilogue.class();
            assert_eq!(serde_json::to_value(&class).unwrap(), json!(epilogue.name()));
            assert_eq!(read(json!(epilogue.name())), class);
        }
    }

    #[test]
    fn a_body_of_a_built_in_name_keeps_its_own_cost() {
        let json = json!({"name": "relu", "cost": {"registers": 16, "special_functions": 2}});
        let own = read(json.clone());
        assert_eq!(serde_json::to_value(&own).unwrap(), json);
        let ours = "relu".parse::<Epilogue>().unwrap().class();
        assert_eq!((own.name(), own.to_string()), (ours.name(), ours.to_string()));
        assert!(own != ours && own.cost().registers > ours.cost().registers);
    }

    #[test]
    fn a_name_alone_that_is_none_of_ours_counts_as_the_costliest() {
        let class = read(json!("a body that no one has seen"));
        assert_eq!(class.cost(), Cost::MOST);
        assert_eq!(serde_json::to_value(class).unwrap(), json!("a body that no one has seen"));
        assert!(serde_json::from_value::<EpilogueClass>(json!({"name": "relu"})).is_err());
    }
}
