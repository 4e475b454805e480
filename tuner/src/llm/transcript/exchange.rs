//! One request and what became of it, as a line of a transcript.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use autokernel_codegen::hash;
use serde::{Deserialize, Serialize};

use crate::llm::provider::{Message, Usage};

/// One request and what became of it: a line of a transcript. It holds no key: replies and errors come without.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// When it ended, RFC 3339.
    pub at: String,
    /// The target in words.
    pub topic: String,
    /// Its number within the topic, from 1.
    pub position: u32,
    /// The provider's name.
    pub provider: String,
    /// The model that answered, as the server names it; empty if none did.
    pub model: String,
    /// Whether the model is asked to mend an unusable reply.
    pub repair: bool,
    /// Hash of the messages; see [`prompt_hash`].
    pub prompt_hash: String,
    /// What was asked.
    pub messages: Vec<Message>,
    /// The reply as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// Why there is no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// Why earlier attempts failed, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<String>,
    /// The tokens it cost, as far as the server says.
    pub usage: Usage,
    /// What it took, in seconds, retries included.
    pub seconds: f64,
}

/// A failed exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The error's text.
    pub text: String,
    /// Whether the next request might have succeeded.
    pub transient: bool,
}

/// The hash of `messages`: 12 hexadecimal digits.
pub fn prompt_hash(messages: &[Message]) -> String {
    hash::short_of(messages.iter().flat_map(|message| [message.role.name().as_bytes(), message.content.as_bytes()]))
}

/// Exchanges by topic and position.
pub type Exchanges = BTreeMap<String, BTreeMap<u32, Exchange>>;

/// The exchanges of the file at `path`; of two at the same position the later counts. A line that a crash cut short is
/// left out.
pub fn read(path: &Path) -> io::Result<Exchanges> {
    let text = fs::read(path)?;
    let mut exchanges = Exchanges::new();
    for line in text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        if let Ok(exchange) = serde_json::from_slice::<Exchange>(line) {
            exchanges.entry(exchange.topic.clone()).or_default().insert(exchange.position, exchange);
        }
    }
    Ok(exchanges)
}
