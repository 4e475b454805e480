//! Going on with a conversation that was cut short.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::exchange::{Exchanges, prompt_hash, read};
use super::record::Recorder;
use crate::llm::error::LlmError;
use crate::llm::provider::{JsonSchema, Message, Provider, Reply};

/// A model that is not asked twice: what its transcript answers, it answers from there, and records what it is asked beyond.
pub struct Resumed {
    recorder: Recorder,
    known: Exchanges,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    topic: String,
    position: u32,
}

impl Resumed {
    /// `inner`, whose transcript is at `path`.
    ///
    /// # Errors
    /// [`LlmError::File`]: the file cannot be read or written.
    pub fn open(inner: Arc<dyn Provider>, path: &Path) -> Result<Self, LlmError> {
        let recorder = Recorder::new(inner, path)?;
        let known = read(path).map_err(|source| LlmError::File { action: "reading", path: path.to_owned(), source })?;
        Ok(Resumed { recorder, known, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the same model said to the same prompt at the same place.
    fn known(&self, messages: &[Message]) -> Option<Reply> {
        let mut state = self.state();
        state.position += 1;
        let exchange = self.known.get(&state.topic)?.get(&state.position)?;
        let is_same = exchange.provider == self.recorder.name() && exchange.prompt_hash == prompt_hash(messages);
        let text = exchange.reply.clone().filter(|_| is_same)?;
        let (model, usage, retried) = (exchange.model.clone(), exchange.usage, exchange.retried.clone());
        Some(Reply { text, model, usage, retried, cut_short: false })
    }
}

impl Provider for Resumed {
    fn name(&self) -> String {
        self.recorder.name()
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        match self.known(messages) {
            Some(reply) => Ok(reply),
            None => self.recorder.complete(messages, wanted),
        }
    }

    fn begin(&self, topic: &str) {
        self.recorder.begin(topic);
        let mut state = self.state();
        state.position = 0;
        topic.clone_into(&mut state.topic);
    }

    fn notices(&self) -> Vec<String> {
        self.recorder.notices()
    }
}
