//! The strategy that the options ask for.

use super::error::AppError;
use crate::cli::{StrategyName, TuneArgs};
use crate::strategy::{Brief, Builtin, Strategy};

/// The strategy for `brief`, with its description.
pub fn proposer(args: &TuneArgs, brief: &Brief) -> Result<(Box<dyn Strategy>, String), AppError> {
    let default = if args.llm.is_some() { StrategyName::Llm } else { StrategyName::Local };
    let builtin = match args.strategy.unwrap_or(default) {
        StrategyName::Random => Builtin::Random,
        StrategyName::Local => Builtin::Local,
        StrategyName::Llm => return Err(AppError::Usage("not wired")),
    };
    Ok((builtin.start(brief), format!("{builtin}, seed {}", brief.seed)))
}
