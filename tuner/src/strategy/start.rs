//! From a strategy's name to the strategy.

use super::ask_tell::Strategy;
use super::brief::Brief;
use super::hybrid::Hybrid;
use super::llm::Llm;
use super::local::Local;
use super::random::Random;
use super::surrogate::Surrogate;
use crate::llm::Provider;
use crate::strategy_name::{Builtin, StrategyName};

impl Builtin {
    /// A strategy for `brief`.
    pub fn start(self, brief: &Brief) -> Box<dyn Strategy> {
        match self {
            Builtin::Random => Box::new(Random::new(brief)),
            Builtin::Local => Box::new(Local::new(brief)),
            Builtin::Surrogate => Box::new(Surrogate::new(brief)),
        }
    }
}

impl StrategyName {
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
