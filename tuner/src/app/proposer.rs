//! The strategy that the options ask for.

use std::path::Path;
use std::sync::Arc;

use super::args::TuneArgs;
use super::error::AppError;
use crate::llm::{Anthropic, FileProvider, Guard, Key, LlmArgs, Named, OpenAi, Provider, Recorder, Replayed, Retry};
use crate::outcome::Measurement;
use crate::stop::Stop;
use crate::strategy::{Brief, Llm, Strategy};
use crate::strategy_name::{Builtin, StrategyName};

/// The strategy that `args` ask for.
pub fn strategy_name(args: &TuneArgs) -> StrategyName {
    let default = if args.llm.llm.is_some() { StrategyName::Hybrid } else { StrategyName::Builtin(Builtin::DEFAULT) };
    args.strategy.unwrap_or(default)
}

/// The strategy for `brief`, with its description. `model` is the language model, if one is to propose, with the time of
/// cuBLAS, if that is known.
pub fn proposer(
    args: &TuneArgs,
    brief: &Brief,
    model: Option<(Arc<Guard>, Option<Measurement>)>,
) -> (Box<dyn Strategy>, String) {
    let name = strategy_name(args);
    let Some((model, cublas)) = model else {
        let builtin = name.builtin().unwrap_or(Builtin::DEFAULT);
        return (builtin.start(brief), format!("{builtin}, seed {}", brief.seed));
    };
    let description = format!("{name} {}", model.name());
    let llm = Llm::new(brief, Box::new(model)).against(cublas).when_unanswered(args.llm.llm_unanswered);
    (name.led_by(llm, brief), description)
}

/// The language model that proposes, if one is to: shared by all targets, within its caps, recorded in `transcript`, and
/// given up once `stop` is requested.
///
/// # Errors
/// It cannot be used as the options say.
pub fn model(args: &TuneArgs, transcript: &Path, stop: &Stop) -> Result<Option<Arc<Guard>>, AppError> {
    if !strategy_name(args).needs_model() {
        return Ok(None);
    }
    let Some(provider) = provider(&args.llm)? else {
        return Err(AppError::Usage(
            "--strategy llm and --strategy hybrid need --llm with the server's base URL, anthropic, or file:DIR",
        ));
    };
    let recorded = Recorder::new(provider, transcript)?;
    let guard = Guard::new(Arc::new(recorded), args.llm.caps(), stop.clone());
    Ok(Some(Arc::new(guard.announcing(|line| errln!("  {line}")))))
}

/// The model that `--llm` and `--model` name, if they name one.
///
/// # Errors
/// It cannot be used as the options say.
pub(crate) fn provider(args: &LlmArgs) -> Result<Option<Arc<dyn Provider>>, AppError> {
    let Some(named) = &args.llm else { return Ok(None) };
    let model = || args.model.as_deref().ok_or(AppError::Usage("this --llm needs --model with the model's name"));
    let key = |default: &str| Key::from_env(args.llm_key_env.as_deref().unwrap_or(default));
    let (limits, retry, extras) = (args.limits(), Retry::default(), args.extras());
    Ok(Some(match named {
        Named::OpenAi(url) => {
            Arc::new(OpenAi::new(url, model()?, key(Key::DEFAULT_VARIABLE)?, limits, retry)?.with(extras))
        }
        Named::Anthropic(url) => {
            Arc::new(Anthropic::new(url, model()?, key(Key::ANTHROPIC_VARIABLE)?, limits, retry)?.with(extras))
        }
        Named::Folder(folder) => {
            let provider = FileProvider::new(folder, args.patience())?;
            Arc::new(provider.announcing(|line| errln!("  {line}")))
        }
        Named::Transcript(path) => Arc::new(Replayed::open(path)?),
    }))
}
