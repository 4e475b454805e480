//! Who proposed a schedule, as the journal and the config write it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::strategy_name::{Builtin, StrategyName};

/// Who proposed a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Proposer {
    /// A strategy that needs no model.
    Builtin(Builtin),
    /// The language model of this name.
    Llm(String),
    /// The built-in search, where a language model had no usable answer.
    StandIn,
    /// The language model of this name, in a hybrid search.
    HybridLlm(String),
    /// The surrogate, in a hybrid search.
    HybridSurrogate,
    /// Nobody now: the schedule was in use and stays.
    Incumbent,
    /// Whoever another version of the tuner, or a person, has named.
    Other(String),
}

const STAND_IN: &str = "llm, local in its place";
const HYBRID_SURROGATE: &str = "hybrid, surrogate";
const INCUMBENT: &str = "incumbent";
const LLM: &str = "llm ";
const HYBRID_LLM: &str = "hybrid, llm ";

impl Proposer {
    /// The strategy whose trial this is, if it is one that is known here.
    pub fn strategy(&self) -> Option<StrategyName> {
        match self {
            Proposer::Builtin(builtin) => Some(StrategyName::Builtin(*builtin)),
            Proposer::Llm(_) | Proposer::StandIn => Some(StrategyName::Llm),
            Proposer::HybridLlm(_) | Proposer::HybridSurrogate => Some(StrategyName::Hybrid),
            Proposer::Incumbent | Proposer::Other(_) => None,
        }
    }
}

impl fmt::Display for Proposer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proposer::Builtin(builtin) => builtin.fmt(f),
            Proposer::Llm(model) => write!(f, "{LLM}{model}"),
            Proposer::StandIn => f.write_str(STAND_IN),
            Proposer::HybridLlm(model) => write!(f, "{HYBRID_LLM}{model}"),
            Proposer::HybridSurrogate => f.write_str(HYBRID_SURROGATE),
            Proposer::Incumbent => f.write_str(INCUMBENT),
            Proposer::Other(name) => f.write_str(name),
        }
    }
}

impl From<&str> for Proposer {
    fn from(text: &str) -> Self {
        let builtin = Builtin::ALL.into_iter().find(|builtin| builtin.to_string() == text);
        match text {
            STAND_IN => Proposer::StandIn,
            HYBRID_SURROGATE => Proposer::HybridSurrogate,
            INCUMBENT => Proposer::Incumbent,
            _ => {
                let model = text.strip_prefix(LLM).map(|model| Proposer::Llm(model.to_owned()));
                let led = || text.strip_prefix(HYBRID_LLM).map(|model| Proposer::HybridLlm(model.to_owned()));
                let known = builtin.map(Proposer::Builtin).or(model).or_else(led);
                known.unwrap_or_else(|| Proposer::Other(text.to_owned()))
            }
        }
    }
}

impl From<String> for Proposer {
    fn from(text: String) -> Self {
        Proposer::from(text.as_str())
    }
}

impl From<Proposer> for String {
    fn from(proposer: Proposer) -> Self {
        proposer.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proposer_is_read_back_from_what_is_written_and_belongs_to_its_strategy() {
        let (local, llm, hybrid) =
            (StrategyName::Builtin(Builtin::Local), Some(StrategyName::Llm), Some(StrategyName::Hybrid));
        for (text, strategy) in [
            ("local", Some(local)),
            ("llm files in model", llm),
            ("llm, local in its place", llm),
            ("hybrid, llm gpt-5 at http://localhost/v1", hybrid),
            ("hybrid, surrogate", hybrid),
            ("incumbent", None),
            ("llama", None),
            ("", None),
        ] {
            let proposer = Proposer::from(text);
            assert_eq!((proposer.to_string().as_str(), proposer.strategy()), (text, strategy), "{proposer:?}");
            let json = serde_json::to_string(&proposer).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Proposer>(&json).unwrap(), proposer);
        }
    }
}
