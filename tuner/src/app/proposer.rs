//! The strategy that the options ask for.

use std::path::Path;
use std::time::Duration;

use super::error::AppError;
use crate::cli::{StrategyName, TuneArgs};
use crate::llm::{FileProvider, Key, Limits, OpenAi, Provider, Retry};
use crate::strategy::{Brief, Builtin, Llm, Strategy};

/// How long a reply file is awaited: a person may have to be found first.
const REPLY_FILE_DEADLINE: Duration = Duration::from_secs(3600);

/// The strategy for `brief`, with its description.
pub fn proposer(args: &TuneArgs, brief: &Brief) -> Result<(Box<dyn Strategy>, String), AppError> {
    let default = if args.llm.is_some() { StrategyName::Llm } else { StrategyName::Local };
    let builtin = match args.strategy.unwrap_or(default) {
        StrategyName::Random => Builtin::Random,
        StrategyName::Local => Builtin::Local,
        StrategyName::Llm => {
            let provider = provider(args)?;
            let description = format!("llm {}", provider.name());
            return Ok((Box::new(Llm::new(brief, provider)), description));
        }
    };
    Ok((builtin.start(brief), format!("{builtin}, seed {}", brief.seed)))
}

/// The model that `--llm` and `--model` name.
fn provider(args: &TuneArgs) -> Result<Box<dyn Provider>, AppError> {
    let Some(llm) = &args.llm else {
        return Err(AppError::Usage("--strategy llm needs --llm with the server's base URL, or file:DIR"));
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
