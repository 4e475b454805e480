//! The strategy that the options ask for.

use std::path::Path;
use std::sync::Arc;

use super::error::AppError;
use crate::cli::{StrategyName, TuneArgs};
use crate::llm::{FileProvider, Guard, Key, Limits, LlmArgs, OpenAi, Provider, Retry};
use crate::session::Stop;
use crate::strategy::{Brief, Builtin, Strategy};

/// The built-in strategy for `brief`, with its description.
pub fn builtin(args: &TuneArgs, brief: &Brief) -> (Box<dyn Strategy>, String) {
    let builtin = match args.strategy {
        Some(StrategyName::Random) => Builtin::Random,
        _ => Builtin::Local,
    };
    (builtin.start(brief), format!("{builtin}, seed {}", brief.seed))
}

/// The language model that proposes, if one is to: shared by all targets, and given up once `stop` is requested.
///
/// # Errors
/// It cannot be used as the options say.
pub fn model(args: &TuneArgs, stop: &Stop) -> Result<Option<Arc<dyn Provider>>, AppError> {
    let default = if args.llm.llm.is_some() { StrategyName::Llm } else { StrategyName::Local };
    if args.strategy.unwrap_or(default) != StrategyName::Llm {
        return Ok(None);
    }
    let provider = provider(&args.llm)?;
    Ok(Some(Arc::new(Guard::new(provider, stop.clone()))))
}

/// The model that `--llm` and `--model` name.
fn provider(args: &LlmArgs) -> Result<Arc<dyn Provider>, AppError> {
    let Some(llm) = &args.llm else {
        return Err(AppError::Usage("--strategy llm needs --llm with the server's base URL, or file:DIR"));
    };
    if let Some(folder) = llm.strip_prefix("file:") {
        let provider = FileProvider::new(Path::new(folder), args.patience())?;
        return Ok(Arc::new(provider.announcing(|line| eprintln!("  {line}"))));
    }
    let Some(model) = &args.model else {
        return Err(AppError::Usage("--llm with a URL needs --model with the model's name"));
    };
    let key = Key::from_env(Key::DEFAULT_VARIABLE)?;
    Ok(Arc::new(OpenAi::new(llm, model, key, Limits::default(), Retry::default())?))
}
