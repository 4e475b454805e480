//! What every call of a model passes: it ends at once when the run is to end.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::error::LlmError;
use super::provider::{JsonSchema, Message, Provider, Reply};
use crate::session::Stop;

/// How often a waiting call looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A model whose calls end when the run is to end.
///
/// The call itself runs on a thread of its own. A call that is given up goes on there until its own limits or the
/// process end it; what it answers is dropped.
pub struct Guard {
    inner: Arc<dyn Provider>,
    stop: Stop,
}

impl Guard {
    /// `inner`, until `stop` is requested.
    pub fn new(inner: Arc<dyn Provider>, stop: Stop) -> Self {
        Guard { inner, stop }
    }
}

impl Provider for Guard {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let (inner, messages, wanted) = (Arc::clone(&self.inner), messages.to_vec(), wanted.cloned());
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || tell.send(inner.complete(&messages, wanted.as_ref())));
        loop {
            match told.recv_timeout(LOOK) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if self.stop.is_requested() => return Err(LlmError::Interrupted),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LlmError::Transport { detail: "the call ended without an answer".to_owned() });
                }
            }
        }
    }

    fn begin(&self, topic: &str) {
        self.inner.begin(topic);
    }

    fn repeats_itself(&self) -> bool {
        self.inner.repeats_itself()
    }

    fn notices(&self) -> Vec<String> {
        self.inner.notices()
    }
}
