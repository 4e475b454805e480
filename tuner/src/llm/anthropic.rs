//! The Anthropic messages protocol.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{LlmError, excerpt};
use super::extras::Extras;
use super::http::{Auth, Client, Limits};
use super::key::Key;
use super::provider::{Count, JsonSchema, Message, Provider, Reply, Role, Usage};
use super::retry::Retry;

/// Tokens that one reply may have, which the protocol requires; a round of proposals needs a fraction of it.
const MAX_TOKENS: u32 = 16_384;

/// A model behind Anthropic's API or a server that speaks its protocol.
#[derive(Debug)]
pub struct Anthropic {
    client: Client,
    base_url: String,
    model: String,
    retry: Retry,
    /// Whether the server refused a forced tool call before.
    without_tool: AtomicBool,
}

impl Anthropic {
    /// Anthropic's own address.
    pub const DEFAULT_BASE_URL: &'static str = "https://api.anthropic.com/v1";

    /// The model `model` at `base_url`, which ends where `/messages` begins.
    ///
    /// # Errors
    /// [`LlmError::BadUrl`]: the URL is not a plain http(s) one.
    pub fn new(
        base_url: &str,
        model: &str,
        key: Option<Key>,
        limits: Limits,
        retry: Retry,
    ) -> Result<Anthropic, LlmError> {
        let client = Client::new(base_url, "/messages", Auth::Anthropic, key, limits)?;
        let (base_url, model) = (base_url.to_owned(), model.to_owned());
        Ok(Anthropic { client, base_url, model, retry, without_tool: AtomicBool::new(false) })
    }

    /// The same model, told more in every request.
    pub fn with(self, extras: Extras) -> Self {
        Self { client: self.client.with(extras), ..self }
    }

    fn request(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let of_role = |role| messages.iter().filter(move |message| (message.role == Role::System) == role);
        let system: Vec<&str> = of_role(true).map(|message| message.content.as_str()).collect();
        let turns: Vec<&Message> = of_role(false).collect();
        let mut body = json!({ "model": self.model, "max_tokens": MAX_TOKENS, "messages": turns });
        if !system.is_empty() {
            body["system"] = system.join("\n\n").into();
        }
        if let Some(JsonSchema { name, schema }) = wanted {
            // Structured output: the model is made to call a tool whose input is the answer.
            let description = "Takes the schedules that you propose.";
            body["tools"] = json!([{ "name": name, "description": description, "input_schema": schema }]);
            body["tool_choice"] = json!({ "type": "tool", "name": name });
        }
        let mut retried = Vec::new();
        let answer = self.retry.call(&mut retried, || self.client.post(&body).and_then(|json| read(json, &self.model)));
        answer.map(|reply| Reply { retried, ..reply })
    }
}

impl Provider for Anthropic {
    fn name(&self) -> String {
        format!("{} at {}", self.model, self.base_url)
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let wanted = wanted.filter(|_| !self.without_tool.load(Ordering::Relaxed));
        match self.request(messages, wanted) {
            Err(LlmError::Rejected { status: 400, detail }) if wanted.is_some() && detail.contains("tool") => {
                tracing::info!(detail, "the LLM server refuses a forced tool call; asking without it");
                let reply = self.request(messages, None)?;
                self.without_tool.store(true, Ordering::Relaxed);
                Ok(reply)
            }
            settled => settled,
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    content: Vec<Block>,
    model: Option<String>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: TokenCounts,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
struct TokenCounts {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    cache_creation_input_tokens: Count,
    #[serde(default)]
    cache_read_input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
}

fn read(answer: Value, asked: &str) -> Result<Reply, LlmError> {
    let Answer { content, model, stop_reason, usage } =
        Answer::deserialize(answer).map_err(|error| LlmError::Malformed { detail: error.to_string() })?;
    let called = content.iter().find_map(|block| match block {
        Block::ToolUse { input } => Some(input.to_string()),
        _ => None,
    });
    let said = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text = called.unwrap_or_else(|| said.collect());
    if text.trim().is_empty() {
        let reason = format!("stop_reason {}", stop_reason.as_deref().unwrap_or("not given"));
        return Err(LlmError::Empty { detail: excerpt(&reason) });
    }
    let read = [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
    let input_tokens = read.iter().fold(0u64, |sum, count| sum.saturating_add(count.0));
    let usage = Usage { input_tokens, output_tokens: usage.output_tokens.0 };
    let cut_short = stop_reason.as_deref() == Some("max_tokens");
    Ok(Reply { text, model: model.unwrap_or_else(|| asked.to_owned()), usage, retried: Vec::new(), cut_short })
}
