//! The strategies by name.

use std::fmt;
use std::str::FromStr;

/// The strategies that need nothing but the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// At random, each once: the yardstick.
    Random,
    /// Steps from the best.
    Local,
    /// A model of the time, asked where it expects much or knows little.
    Surrogate,
}

impl Builtin {
    /// The better of the two that search on the recorded spaces; docs/strategies.md has the figures.
    pub const DEFAULT: Builtin = Builtin::Surrogate;

    /// Each of them.
    pub const ALL: [Builtin; 3] = [Builtin::Random, Builtin::Local, Builtin::Surrogate];
}

/// A strategy, as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyName {
    /// One that needs no model.
    Builtin(Builtin),
    /// A language model.
    Llm,
    /// A language model that seeds and steers, and the surrogate.
    Hybrid,
}

impl StrategyName {
    /// Each of them.
    pub const ALL: [StrategyName; 5] = [
        StrategyName::Builtin(Builtin::Random),
        StrategyName::Builtin(Builtin::Local),
        StrategyName::Builtin(Builtin::Surrogate),
        StrategyName::Llm,
        StrategyName::Hybrid,
    ];

    /// Whether it needs a language model.
    pub fn needs_model(self) -> bool {
        self.builtin().is_none()
    }

    /// The strategy, if it needs no language model.
    pub fn builtin(self) -> Option<Builtin> {
        match self {
            StrategyName::Builtin(builtin) => Some(builtin),
            StrategyName::Llm | StrategyName::Hybrid => None,
        }
    }
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrategyName::Builtin(builtin) => builtin.fmt(f),
            StrategyName::Llm => f.write_str("llm"),
            StrategyName::Hybrid => f.write_str("hybrid"),
        }
    }
}

impl FromStr for StrategyName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = StrategyName::ALL.into_iter().find(|strategy| strategy.to_string() == name);
        known.ok_or_else(|| {
            let all = StrategyName::ALL.map(|strategy| strategy.to_string()).join(", ");
            format!("there is no strategy `{name}`; known are {all}")
        })
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Builtin::Random => "random",
            Builtin::Local => "local",
            Builtin::Surrogate => "surrogate",
        })
    }
}
