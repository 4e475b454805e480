//! Where the replies of a model come from: recorded ones, files, or a server that is asked now.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::contest::Arena;
use super::replies::RecordedReplies;
use crate::llm::{Caps, FileProvider, Guard, LlmError, Provider, Replayed, Resumed};
use crate::stop::Stop;

/// Where the model of an arm comes from: a provider for each search, by what is searched and the seed.
pub type Models = dyn Fn(&Arena, u64) -> Result<Box<dyn Provider>, LlmError> + Send + Sync;

/// The replies recorded in `folder`: `PROBLEM_SHAPE/reply-001.md` and so on.
pub fn recorded(folder: &Path) -> Box<Models> {
    let folder = folder.to_owned();
    Box::new(move |arena, seed| Ok(Box::new(RecordedReplies::open(&folder, &arena.target.slug(), seed)?)))
}

/// The transcript of an earlier run at `path`, given again in every search of the same target.
///
/// # Errors
/// It cannot be read, or holds nothing.
pub fn transcript(path: &Path) -> Result<Box<Models>, LlmError> {
    Replayed::open(path)?;
    let path = path.to_owned();
    Ok(Box::new(move |_, _| Ok(Box::new(Replayed::open(&path)?))))
}

/// Prompts and replies through files of `folder`, a folder for each search of `strategy`; each reply is waited for as
/// long as `patience`.
pub fn files(folder: &Path, strategy: &str, patience: Duration) -> Box<Models> {
    let folder: PathBuf = folder.join(strategy);
    Box::new(move |arena, seed| {
        let folder = folder.join(arena.target.slug()).join(format!("seed-{seed}"));
        Ok(Box::new(FileProvider::new(&folder, patience)?))
    })
}

/// One model for all searches, together within `caps`.
pub fn shared(provider: Arc<dyn Provider>, caps: Caps) -> Arc<Guard> {
    Arc::new(Guard::new(provider, caps, Stop::default()))
}

/// The same `model` in every search of `strategy`. Each has a transcript in `folder`, from which it goes on when the comparison
/// was cut short.
pub fn server(model: Arc<Guard>, folder: &Path, strategy: &str) -> Box<Models> {
    let folder: PathBuf = folder.join("transcripts").join(strategy);
    Box::new(move |arena, seed| {
        let path = folder.join(arena.target.slug()).join(format!("seed-{seed}.jsonl"));
        Ok(Box::new(Resumed::open(Arc::clone(&model) as Arc<dyn Provider>, &path)?))
    })
}
