//! The OpenAI chat/completions protocol, which vLLM, llama.cpp, Ollama, LiteLLM and most hosts speak too.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{LlmError, excerpt};
use super::extras::Extras;
use super::http::{Auth, Client, Limits};
use super::key::Key;
use super::provider::{Count, JsonSchema, Message, Provider, Reply, Usage};
use super::retry::Retry;

/// How a reply is asked to be JSON, strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// The server holds the model to the schema.
    Schema,
    /// The server has the model call a tool whose arguments follow the schema.
    Tool,
    /// The server holds the model to JSON of any form.
    Object,
    /// The prompt alone asks for it.
    Plain,
}

const FORMATS: [Format; 4] = [Format::Schema, Format::Tool, Format::Object, Format::Plain];

/// A model behind an OpenAI-compatible server.
#[derive(Debug)]
pub struct OpenAi {
    client: Client,
    base_url: String,
    model: String,
    retry: Retry,
    /// How strictly the server can be asked: an index into [`FORMATS`].
    format: AtomicUsize,
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
        let client = Client::new(base_url, "/chat/completions", Auth::Bearer, key, limits)?;
        let (base_url, model) = (base_url.to_owned(), model.to_owned());
        Ok(OpenAi { client, base_url, model, retry, format: AtomicUsize::new(0) })
    }

    /// The same model, told more in every request.
    pub fn with(self, extras: Extras) -> Self {
        Self { client: self.client.with(extras), ..self }
    }

    fn request(&self, messages: &[Message], wanted: &JsonSchema, format: Format) -> Result<Reply, LlmError> {
        let mut body = json!({ "model": self.model, "messages": messages });
        let JsonSchema { name, schema } = wanted;
        match format {
            Format::Schema => {
                let json_schema = json!({ "name": name, "strict": true, "schema": schema });
                body["response_format"] = json!({ "type": "json_schema", "json_schema": json_schema });
            }
            Format::Tool => {
                body["tools"] = json!([{ "type": "function", "function": { "name": name, "parameters": schema } }]);
                body["tool_choice"] = json!({ "type": "function", "function": { "name": name } });
            }
            Format::Object => body["response_format"] = json!({ "type": "json_object" }),
            Format::Plain => {}
        }
        self.send(&body)
    }

    fn send(&self, body: &Value) -> Result<Reply, LlmError> {
        let mut retried = Vec::new();
        let answer = self.retry.call(&mut retried, || self.client.post(body).and_then(|json| read(json, &self.model)));
        answer.map(|reply| Reply { retried, ..reply })
    }
}

impl Provider for OpenAi {
    fn name(&self) -> String {
        format!("{} at {}", self.model, self.base_url)
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let Some(wanted) = wanted else {
            return self.send(&json!({ "model": self.model, "messages": messages }));
        };
        let mut level = self.format.load(Ordering::Relaxed).min(FORMATS.len() - 1);
        loop {
            match self.request(messages, wanted, FORMATS[level]) {
                Err(LlmError::Rejected { status: status @ (400 | 422), detail }) if level + 1 < FORMATS.len() => {
                    tracing::info!(status, detail, "the LLM server refuses {:?}; asking for less", FORMATS[level]);
                    level += 1;
                }
                Ok(reply) => {
                    // Remembered only now: the refusal may have been about something else.
                    self.format.store(level, Ordering::Relaxed);
                    return Ok(reply);
                }
                Err(error) => return Err(error),
            }
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
    /// Servers that take a schema for a tool answer by calling it.
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    function: Arguments,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    arguments: String,
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
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
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
    let called = message.tool_calls.unwrap_or_default().into_iter().next();
    let text = if text.trim().is_empty() { called.map_or(text, |call| call.function.arguments) } else { text };
    if text.trim().is_empty() {
        let reason = || format!("finish_reason {}", finish_reason.as_deref().unwrap_or("not given"));
        return Err(match message.refusal {
            Some(refusal) => LlmError::Refused { excerpt: excerpt(&refusal) },
            None => LlmError::Empty { detail: excerpt(&reason()) },
        });
    }
    let usage = usage.map_or(Usage::default(), |counts| Usage {
        input_tokens: counts.prompt_tokens.0,
        output_tokens: counts.completion_tokens.0,
    });
    let cut_short = finish_reason.as_deref() == Some("length");
    Ok(Reply { text, model: model.unwrap_or_else(|| asked.to_owned()), usage, retried: Vec::new(), cut_short })
}
