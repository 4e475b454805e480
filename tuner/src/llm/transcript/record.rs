//! Writing exchanges down.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::exchange::{Exchange, Exchanges, Fault, prompt_hash, read};
use crate::environment::timestamp;
use crate::llm::error::LlmError;
use crate::llm::prompt::is_repair;
use crate::llm::provider::{JsonSchema, Message, Provider, Reply, Usage};

/// A model whose exchanges are appended to a file as they happen.
///
/// What a provider that repeats itself says again is not written twice.
pub struct Recorder {
    inner: Arc<dyn Provider>,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    written: Exchanges,
    topic: String,
    position: u32,
    notices: Vec<String>,
}

impl Recorder {
    /// `inner`, recorded at the end of the file at `path`, whose folder is created if it is not there.
    ///
    /// # Errors
    /// [`LlmError::File`]: the file cannot be read or written.
    pub fn new(inner: Arc<dyn Provider>, path: &Path) -> Result<Self, LlmError> {
        let failed = |source| LlmError::File { action: "opening", path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = OpenOptions::new().append(true).create(true).read(true).open(path).map_err(failed)?;
        let written = read(path).map_err(failed)?;
        // What a crash cut short must not run into the next line.
        end_line(&file, path).map_err(failed)?;
        let state = State { written, ..State::default() };
        Ok(Recorder { inner, path: path.to_owned(), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, exchange: Exchange) {
        let mut state = self.state();
        let known = state.written.get(&exchange.topic).and_then(|topic| topic.get(&exchange.position));
        let said_again = |known: &Exchange| known.reply == exchange.reply && known.error == exchange.error;
        if self.inner.repeats_itself() && known.is_some_and(said_again) {
            return;
        }
        if let Err(error) = append(&self.path, &exchange) {
            state.notices.push(format!("{} cannot be written ({error}); make room there", self.path.display()));
        }
        state.written.entry(exchange.topic.clone()).or_default().insert(exchange.position, exchange);
    }
}

impl Provider for Recorder {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let (topic, position) = {
            let mut state = self.state();
            state.position += 1;
            (state.topic.clone(), state.position)
        };
        let start = Instant::now();
        let answer = self.inner.complete(messages, wanted);
        // Nobody was there to have an exchange with.
        if matches!(answer, Err(LlmError::NoReplyFile { .. } | LlmError::Interrupted)) {
            return answer;
        }
        let reply = answer.as_ref().ok();
        self.record(Exchange {
            at: timestamp(),
            topic,
            position,
            provider: self.inner.name(),
            model: reply.map_or_else(String::new, |reply| reply.model.clone()),
            repair: messages.last().is_some_and(|message| is_repair(&message.content)),
            prompt_hash: prompt_hash(messages),
            messages: messages.to_vec(),
            reply: reply.map(|reply| reply.text.clone()),
            error: answer.as_ref().err().map(|e| Fault { text: e.to_string(), transient: e.is_transient() }),
            retried: reply.map_or_else(Vec::new, |reply| reply.retried.clone()),
            usage: reply.map_or(Usage::default(), |reply| reply.usage),
            seconds: start.elapsed().as_secs_f64(),
        });
        answer
    }

    fn begin(&self, topic: &str) {
        self.inner.begin(topic);
        let mut state = self.state();
        let last = state.written.get(topic).and_then(|topic| topic.keys().last().copied());
        state.position = if self.inner.repeats_itself() { 0 } else { last.unwrap_or(0) };
        topic.clone_into(&mut state.topic);
    }

    fn repeats_itself(&self) -> bool {
        self.inner.repeats_itself()
    }

    fn notices(&self) -> Vec<String> {
        let mut notices = self.inner.notices();
        notices.append(&mut self.state().notices);
        notices
    }
}

fn append(path: &Path, exchange: &Exchange) -> io::Result<()> {
    let mut line = serde_json::to_vec(exchange)?;
    line.push(b'\n');
    // One write a line, so that a crash cuts at most the last.
    OpenOptions::new().append(true).create(true).open(path)?.write_all(&line)
}

fn end_line(mut file: &std::fs::File, path: &Path) -> io::Result<()> {
    let text = std::fs::read(path)?;
    if text.last().is_some_and(|&byte| byte != b'\n') { file.write_all(b"\n") } else { Ok(()) }
}
