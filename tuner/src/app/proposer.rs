//! The strategy that the options ask for.

use std::path::Path;
use std::sync::Arc;

use super::error::AppError;
use crate::cli::{StrategyName, TuneArgs};
use crate::llm::{
    Anthropic, FileProvider, Guard, Key, Limits, LlmArgs, Named, OpenAi, Provider, Recorder, Replayed, Retry,
};
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

/// The language model that proposes, if one is to: shared by all targets, within its caps, recorded in `transcript`, and
/// given up once `stop` is requested.
///
/// # Errors
/// It cannot be used as the options say.
pub fn model(args: &TuneArgs, transcript: &Path, stop: &Stop) -> Result<Option<Arc<Guard>>, AppError> {
    let default = if args.llm.llm.is_some() { StrategyName::Llm } else { StrategyName::Local };
    if args.strategy.unwrap_or(default) != StrategyName::Llm {
        return Ok(None);
    }
    let recorded = Recorder::new(provider(&args.llm)?, transcript)?;
    Ok(Some(Arc::new(Guard::new(Arc::new(recorded), args.llm.caps(), stop.clone()))))
}

/// The model that `--llm` and `--model` name.
fn provider(args: &LlmArgs) -> Result<Arc<dyn Provider>, AppError> {
    let Some(named) = args.named() else {
        return Err(AppError::Usage("--strategy llm needs --llm with the server's base URL, anthropic, or file:DIR"));
    };
    let model = || args.model.as_deref().ok_or(AppError::Usage("this --llm needs --model with the model's name"));
    let key = |default: &str| Key::from_env(args.llm_key_env.as_deref().unwrap_or(default));
    let (limits, retry) = (Limits::default(), Retry::default());
    Ok(match named {
        Named::OpenAi(url) => Arc::new(OpenAi::new(url, model()?, key(Key::DEFAULT_VARIABLE)?, limits, retry)?),
        Named::Anthropic(url) => Arc::new(Anthropic::new(url, model()?, key(Anthropic::KEY_VARIABLE)?, limits, retry)?),
        Named::Folder(folder) => {
            let provider = FileProvider::new(folder, args.patience())?;
            Arc::new(provider.announcing(|line| eprintln!("  {line}")))
        }
        Named::Transcript(path) => Arc::new(Replayed::open(path)?),
    })
}
