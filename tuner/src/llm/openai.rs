//! The OpenAI chat/completions protocol, which vLLM, llama.cpp, Ollama, LiteLLM and most hosts speak too.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{LlmError, excerpt};
use super::http::{Client, Limits};
use super::key::Key;
use super::provider::{JsonSchema, Message, Provider, Reply, Usage};
use super::retry::Retry;

/// A model behind an OpenAI-compatible server.
#[derive(Debug)]
pub struct OpenAi {
    client: Client,
    base_url: String,
    model: String,
    retry: Retry,
    /// Whether the server refused `response_format` before.
    without_schema: AtomicBool,
}

impl OpenAi {
    /// OpenAI's own address.
    pub const DEFAULT_BASE_URL: &'static str = "https://api.openai.com/v1";

    /// The model `model` at `base_url`, which ends where `/chat/completions` begins. Local servers need no key.
    ///
    /// # Errors
    /// [`LlmError::BadUrl`]: the URL is not a plain http(s) one.
    pub fn new(
        base_url: &str,
        model: &str,
        key: Option<Key>,
        limits: Limits,
        retry: Retry,
    ) -> Result<OpenAi, LlmError> {
        let client = Client::new(base_url, "/chat/completions", key, limits)?;
        let (base_url, model) = (base_url.to_owned(), model.to_owned());
        Ok(OpenAi { client, base_url, model, retry, without_schema: AtomicBool::new(false) })
    }

    fn request(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let mut body = json!({ "model": self.model, "messages": messages });
        if let Some(JsonSchema { name, schema }) = wanted {
            let json_schema = json!({ "name": name, "strict": true, "schema": schema });
            body["response_format"] = json!({ "type": "json_schema", "json_schema": json_schema });
        }
        self.retry.call(|| self.client.post(&body).and_then(|answer| read(answer, &self.model)))
    }
}

impl Provider for OpenAi {
    fn name(&self) -> String {
        format!("{} at {}", self.model, self.base_url)
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let wanted = wanted.filter(|_| !self.without_schema.load(Ordering::Relaxed));
        match self.request(messages, wanted) {
            Err(LlmError::Rejected { status: status @ (400 | 422), detail }) if wanted.is_some() => {
                tracing::info!(status, detail, "the LLM server refuses response_format; asking without it");
                let reply = self.request(messages, None)?;
                self.without_schema.store(true, Ordering::Relaxed);
                Ok(reply)
            }
            settled => settled,
        }
    }
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    model: Option<String>,
    usage: Option<TokenCounts>,
}

#[derive(Deserialize)]
struct Choice {
    message: Answer,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    content: Option<Content>,
    refusal: Option<String>,
}

/// Text, or the list of parts that some servers send.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct TokenCounts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

fn read(answer: Value, asked: &str) -> Result<Reply, LlmError> {
    // Gateways report their upstream's fault under a success status.
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        return Err(LlmError::Malformed { detail: excerpt(&error.to_string()) });
    }
    let completion = Completion::deserialize(answer);
    let Completion { choices, model, usage } =
        completion.map_err(|error| LlmError::Malformed { detail: error.to_string() })?;
    let choice = choices.into_iter().next();
    let Choice { message, finish_reason } =
        choice.ok_or_else(|| LlmError::Malformed { detail: "`choices` is empty".to_owned() })?;
    let text = match message.content {
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
        None => String::new(),
    };
    if text.trim().is_empty() {
        let reason = format!("finish_reason {}", finish_reason.as_deref().unwrap_or("not given"));
        return Err(LlmError::Empty { detail: excerpt(&message.refusal.unwrap_or(reason)) });
    }
    let usage = usage.map_or(Usage::default(), |counts| Usage {
        input_tokens: counts.prompt_tokens.unwrap_or(0),
        output_tokens: counts.completion_tokens.unwrap_or(0),
    });
    Ok(Reply { text, model: model.unwrap_or_else(|| asked.to_owned()), usage })
}
