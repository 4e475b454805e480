//! The strategies by name.

use std::fmt;
use std::str::FromStr;

use super::ask_tell::Strategy;
use super::brief::Brief;
use super::hybrid::Hybrid;
use super::llm::Llm;
use super::local::Local;
use super::random::Random;
use super::surrogate::Surrogate;
use crate::llm::Provider;

/// The strategies that need nothing but the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// [`Random`].
    Random,
    /// [`Local`].
    Local,
    /// [`Surrogate`].
    Surrogate,
}

impl Builtin {
    /// The better of [`Local`] and [`Surrogate`] on the recorded spaces; docs/strategies.md has the figures.
    pub const DEFAULT: Builtin = Builtin::Surrogate;

    /// Each of them.
    pub const ALL: [Builtin; 3] = [Builtin::Random, Builtin::Local, Builtin::Surrogate];

    /// A strategy for `brief`.
    pub fn start(self, brief: &Brief) -> Box<dyn Strategy> {
        match self {
            Builtin::Random => Box::new(Random::new(brief)),
            Builtin::Local => Box::new(Local::new(brief)),
            Builtin::Surrogate => Box::new(Surrogate::new(brief)),
        }
    }
}

/// A strategy, as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyName {
    /// One that needs no model.
    Builtin(Builtin),
    /// [`Llm`].
    Llm,
    /// [`Hybrid`].
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

    /// A strategy for `brief`. Those without a model leave `provider` alone.
    pub fn start(self, brief: &Brief, provider: Box<dyn Provider>) -> Box<dyn Strategy> {
        match self {
            StrategyName::Builtin(builtin) => builtin.start(brief),
            StrategyName::Llm | StrategyName::Hybrid => self.led_by(Llm::new(brief, provider), brief),
        }
    }

    /// A strategy for `brief` whose model `llm` asks. Those without a model leave `llm` alone.
    pub fn led_by(self, llm: Llm, brief: &Brief) -> Box<dyn Strategy> {
        match self {
            StrategyName::Builtin(builtin) => builtin.start(brief),
            StrategyName::Llm => Box::new(llm),
            StrategyName::Hybrid => Box::new(Hybrid::led_by(llm, brief)),
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
