//! One of the strategies that are compared.

use std::path::PathBuf;

use super::contest::{Arena, Course};
use super::costs::Costs;
use super::models::Models;
use crate::llm::LlmError;
use crate::session::Budget;
use crate::strategy::Strategy;
use crate::strategy_name::StrategyName;

/// One of the strategies that are compared.
pub struct Arm {
    /// The strategy.
    pub name: StrategyName,
    /// Its model, for those that need one.
    pub models: Option<Box<Models>>,
}

impl Arm {
    /// Lets the strategy search `arena` once.
    ///
    /// # Errors
    /// There is no model for this search.
    pub fn play(&self, arena: &Arena, budget: Budget, costs: &Costs, seed: u64) -> Result<Course, LlmError> {
        let brief = arena.brief(budget, seed);
        let mut strategy: Box<dyn Strategy> = match (self.name, &self.models) {
            (StrategyName::Builtin(builtin), _) => builtin.start(&brief),
            (name, Some(models)) => name.start(&brief, models(arena, seed)?),
            (name, None) => {
                return Err(LlmError::File {
                    action: "finding the replies for",
                    path: PathBuf::from(name.to_string()),
                    source: std::io::ErrorKind::NotFound.into(),
                });
            }
        };
        Ok(arena.play(strategy.as_mut(), budget, costs))
    }
}
