//! What a language model is to the tuner: messages in, text out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::LlmError;

/// Whose words a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The standing instructions.
    System,
    /// The tuner.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name in the chat protocols.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Whose words.
    pub role: Role,
    /// The words.
    pub content: String,
}

impl Message {
    /// Standing instructions.
    pub fn system(content: impl Into<String>) -> Self {
        Message { role: Role::System, content: content.into() }
    }

    /// Words of the tuner.
    pub fn user(content: impl Into<String>) -> Self {
        Message { role: Role::User, content: content.into() }
    }

    /// Words of the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Message { role: Role::Assistant, content: content.into() }
    }
}

/// The JSON schema that a reply is asked to follow, for servers that can enforce one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonSchema {
    /// A name of letters, digits and underscores.
    pub name: String,
    /// The schema.
    pub schema: serde_json::Value,
}

/// Tokens that one or more calls cost, as far as the server says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written, reasoning included.
    pub output_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

/// A count as a server gives it: a whole number, one with a fraction, or something else, which counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count(pub u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Count(value.as_u64().or(value.as_f64().map(|count| count as u64)).unwrap_or(0)))
    }
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The words; never blank.
    pub text: String,
    /// The model that answered, as the server names it.
    pub model: String,
    /// What the call cost.
    #[serde(default)]
    pub usage: Usage,
    /// Why earlier attempts at the same request failed, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<String>,
    /// Whether the model came to the most that it may write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
}

/// A language model.
///
/// A call blocks until the model has answered or the provider has given up; retries are the provider's own.
/// Messages and replies are serialisable, so that a wrapper can record them or answer from a record.
pub trait Provider: Send + Sync {
    /// Which model this is, for the journal and the summary: `gpt-5 at https://api.openai.com/v1`. Holds no secret.
    fn name(&self) -> String;

    /// Answers `messages`, following `wanted` where the model can be held to a schema.
    ///
    /// # Errors
    /// Whatever kept the model from answering, with its remedy; no secret is in it.
    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError>;

    /// Says that the next messages begin a conversation about `topic`, the target in words.
    fn begin(&self, _topic: &str) {}

    /// Whether the nth request about a topic always has the same answer, as with files or a transcript. Then an
    /// interrupted search is continued by asking again from the start.
    fn repeats_itself(&self) -> bool {
        false
    }

    /// Says that the model is of no use now: its last replies ended in `_error`.
    fn give_up(&self, _error: &LlmError) {}

    /// What happened since the last call that a person should know.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A shared model is a model.
impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        (**self).complete(messages, wanted)
    }

    fn begin(&self, topic: &str) {
        (**self).begin(topic);
    }

    fn repeats_itself(&self) -> bool {
        (**self).repeats_itself()
    }

    fn give_up(&self, error: &LlmError) {
        (**self).give_up(error);
    }

    fn notices(&self) -> Vec<String> {
        (**self).notices()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_count_tokens_as_it_likes() {
        let counts = |text: &str| -> Vec<u64> {
            serde_json::from_str::<Vec<Count>>(text).unwrap().iter().map(|count| count.0).collect()
        };
        assert_eq!(counts("[7, 7.9, -3.0, 1e300, null, \"7\"]"), [7, 7, 0, u64::MAX, 0, 0]);
        let mut usage = Usage { input_tokens: u64::MAX, output_tokens: 1 };
        usage += Usage { input_tokens: 1, output_tokens: 1 };
        assert_eq!(usage, Usage { input_tokens: u64::MAX, output_tokens: 2 });
    }
}
