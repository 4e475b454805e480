//! The strategy that the options ask for.

use std::path::Path;
use std::time::Duration;

use super::error::AppError;
use crate::cli::TuneArgs;
use crate::llm::{FileProvider, Key, Limits, OpenAi, Provider, Retry};
use crate::strategy::{Brief, Builtin, Strategy, StrategyName};

/// How long a reply file is awaited: a person may have to be found first.
const REPLY_FILE_DEADLINE: Duration = Duration::from_secs(3600);

/// The strategy that `args` ask for.
pub fn strategy_name(args: &TuneArgs) -> StrategyName {
    let default = if args.llm.is_some() { StrategyName::Hybrid } else { StrategyName::Builtin(Builtin::DEFAULT) };
    args.strategy.unwrap_or(default)
}

/// The strategy for `brief`, with its description.
pub fn proposer(args: &TuneArgs, brief: &Brief) -> Result<(Box<dyn Strategy>, String), AppError> {
    let name = strategy_name(args);
    if let StrategyName::Builtin(builtin) = name {
        return Ok((builtin.start(brief), format!("{builtin}, seed {}", brief.seed)));
    }
    let provider = provider(args)?;
    let description = format!("{name} {}", provider.name());
    Ok((name.start(brief, provider), description))
}

/// The model that `--llm` and `--model` name.
fn provider(args: &TuneArgs) -> Result<Box<dyn Provider>, AppError> {
    let Some(llm) = &args.llm else {
        return Err(AppError::Usage(
            "--strategy llm and --strategy hybrid need --llm with the server's base URL, or file:DIR",
        ));
    };
    if let Some(folder) = llm.strip_prefix("file:") {
        return Ok(Box::new(FileProvider::new(Path::new(folder), REPLY_FILE_DEADLINE)?));
    }
    let Some(model) = &args.model else {
        return Err(AppError::Usage("--llm with a URL needs --model with the model's name"));
    };
    let key = Key::from_env(Key::DEFAULT_VARIABLE)?;
    Ok(Box::new(OpenAi::new(llm, model, key, Limits::default(), Retry::default())?))
}
