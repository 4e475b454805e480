//! Answering from what was written down.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::exchange::{Exchanges, prompt_hash, read};
use crate::llm::error::LlmError;
use crate::llm::provider::{JsonSchema, Message, Provider, Reply};

/// A model that answers from a transcript: the nth request about a topic as the nth was answered then.
///
/// A request that differs from the recorded one is answered all the same, and [`Provider::notices`] says so.
pub struct Replayed {
    path: PathBuf,
    exchanges: Exchanges,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    topic: String,
    position: u32,
    notices: Vec<String>,
}

impl Replayed {
    /// The model that the transcript at `path` recorded.
    ///
    /// # Errors
    /// [`LlmError::File`] if it cannot be read, [`LlmError::NoExchange`] if it holds nothing.
    pub fn open(path: &Path) -> Result<Self, LlmError> {
        let failed = |source| LlmError::File { action: "reading", path: path.to_owned(), source };
        let exchanges = read(path).map_err(failed)?;
        if exchanges.is_empty() {
            return Err(LlmError::NoExchange { path: path.to_owned(), position: 1, topic: "anything".to_owned() });
        }
        Ok(Replayed { path: path.to_owned(), exchanges, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for Replayed {
    fn name(&self) -> String {
        let first = self.exchanges.values().flat_map(|topic| topic.values()).next();
        let provider = first.map_or("nobody", |exchange| exchange.provider.as_str());
        format!("{provider}, replayed from {}", self.path.display())
    }

    fn complete(&self, messages: &[Message], _wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let mut state = self.state();
        state.position += 1;
        let (topic, position) = (state.topic.clone(), state.position);
        let Some(exchange) = self.exchanges.get(&topic).and_then(|topic| topic.get(&position)) else {
            return Err(LlmError::NoExchange { path: self.path.clone(), position, topic });
        };
        if exchange.prompt_hash != prompt_hash(messages) {
            state.notices.push(format!(
                "prompt {position} is not the one in {}: the budget, the facts, the times or the tuner differ; its \
                 recorded reply is used all the same",
                self.path.display()
            ));
        }
        match (&exchange.reply, &exchange.error) {
            (Some(text), _) => Ok(Reply {
                text: text.clone(),
                model: exchange.model.clone(),
                usage: exchange.usage,
                retried: exchange.retried.clone(),
                cut_short: false,
            }),
            (None, fault) => Err(LlmError::Recorded {
                text: fault.as_ref().map_or_else(String::new, |fault| fault.text.clone()),
                transient: fault.as_ref().is_some_and(|fault| fault.transient),
            }),
        }
    }

    fn begin(&self, topic: &str) {
        let mut state = self.state();
        state.position = 0;
        topic.clone_into(&mut state.topic);
    }

    fn repeats_itself(&self) -> bool {
        true
    }

    fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notices)
    }
}
