//! One of the strategies that are compared, and where the replies of its model come from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::contest::{Arena, Course};
use super::costs::Costs;
use super::replies::RecordedReplies;
use crate::llm::{FileProvider, LlmError, Provider};
use crate::session::Budget;
use crate::strategy::{Strategy, StrategyName};

/// How long a reply file is awaited.
const REPLY_FILE_DEADLINE: Duration = Duration::from_secs(3600);

/// Where the model of an arm comes from: a provider for each search, by what is searched and the seed.
pub type Models = dyn Fn(&Arena, u64) -> Result<Box<dyn Provider>, LlmError> + Send + Sync;

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

/// The models that `--replies` names: `DIR` with recorded replies, or `file:DIR` to ask through files now.
pub fn models(replies: &str) -> Box<Models> {
    if let Some(folder) = replies.strip_prefix("file:") {
        let folder = PathBuf::from(folder);
        return Box::new(move |arena, seed| {
            let folder = folder.join(arena.target.slug()).join(format!("seed-{seed}"));
            Ok(Box::new(FileProvider::new(&folder, REPLY_FILE_DEADLINE)?))
        });
    }
    let folder = Path::new(replies).to_owned();
    Box::new(move |arena, seed| Ok(Box::new(RecordedReplies::open(&folder, &arena.target.slug(), seed)?)))
}
