//! Where the replies of a model come from: recorded ones, files, or a server that is asked now.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::contest::Arena;
use super::replies::RecordedReplies;
use crate::llm::{FileProvider, Key, Limits, LlmError, OpenAi, Provider, Retry};

/// How long a reply file is awaited.
const REPLY_FILE_DEADLINE: Duration = Duration::from_secs(3600);

/// Where the model of an arm comes from: a provider for each search, by what is searched and the seed.
pub type Models = dyn Fn(&Arena, u64) -> Result<Box<dyn Provider>, LlmError> + Send + Sync;

/// The replies recorded in `folder`: `PROBLEM_SHAPE/reply-001.md` and so on.
pub fn recorded(folder: &Path) -> Box<Models> {
    let folder = folder.to_owned();
    Box::new(move |arena, seed| Ok(Box::new(RecordedReplies::open(&folder, &arena.target.slug(), seed)?)))
}

/// Prompts and replies through files of `folder`, a folder for each search of `strategy`.
pub fn files(folder: &Path, strategy: &str) -> Box<Models> {
    let folder: PathBuf = folder.join(strategy);
    Box::new(move |arena, seed| {
        let folder = folder.join(arena.target.slug()).join(format!("seed-{seed}"));
        Ok(Box::new(FileProvider::new(&folder, REPLY_FILE_DEADLINE)?))
    })
}

/// The model `model` of the OpenAI-compatible server at `url`; its key comes from the environment.
///
/// # Errors
/// The URL or the key cannot be used.
pub fn server(url: &str, model: &str) -> Result<Box<Models>, LlmError> {
    let (url, model) = (url.to_owned(), model.to_owned());
    let key = Key::from_env(Key::DEFAULT_VARIABLE)?;
    let open = move || OpenAi::new(&url, &model, key.clone(), Limits::default(), Retry::default());
    open()?;
    Ok(Box::new(move |_, _| Ok(Box::new(open()?))))
}
