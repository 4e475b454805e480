//! What can go wrong between the tuner and a language model. Each message ends with its remedy.

use std::path::PathBuf;
use std::time::Duration;

/// A language model did not answer, or not usably. `detail` is the server's own text, shortened, with the key removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlmError {
    /// The base URL cannot be used.
    #[error("the LLM base URL {reason}; give one like https://api.openai.com/v1 or http://localhost:11434/v1")]
    BadUrl {
        /// What is wrong with it. The URL itself may hold a password and is not repeated.
        reason: String,
    },
    /// The environment variable that should hold the key holds something else.
    #[error("the environment variable {variable} {reason}; set it to the bare key, as the provider shows it")]
    BadKey {
        /// The variable.
        variable: String,
        /// What is wrong with its value, which is not repeated.
        reason: &'static str,
    },
    /// 401 or 403.
    #[error("the LLM server refused the key (HTTP {status}: {detail}); {remedy}")]
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        detail: String,
        /// Depends on whether a key was sent.
        remedy: String,
    },
    /// 400, 404, 422 and the like.
    #[error(
        "the LLM server rejected the request (HTTP {status}: {detail}); check the model name and that the base URL ends where /chat/completions (Anthropic: /messages) begins"
    )]
    Rejected {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        detail: String,
    },
    /// 3xx: following it would send the prompt, or the key, elsewhere.
    #[error(
        "the LLM server redirects (HTTP {status}) to {location}; give that address as the base URL if you trust it"
    )]
    Redirected {
        /// The HTTP status.
        status: u16,
        /// Where to.
        location: String,
    },
    /// 429, still after the retries.
    #[error("the LLM server limits the rate (HTTP 429: {detail}); wait a while, or ask less often with fewer rounds")]
    RateLimited {
        /// What the server said.
        detail: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// 429 that no waiting cures.
    #[error("the LLM account has no quota left (HTTP 429: {detail}); add credit at the provider or use another key")]
    OutOfQuota {
        /// What the server said.
        detail: String,
    },
    /// 5xx, still after the retries.
    #[error("the LLM server failed (HTTP {status}: {detail}); try again later or choose another model")]
    Server {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        detail: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server took too long.
    #[error("the LLM server did not finish within {} s ({phase}); raise the timeout or choose a faster model", .limit.as_secs_f64())]
    Timeout {
        /// The limit that was reached.
        limit: Duration,
        /// What was being waited for.
        phase: &'static str,
    },
    /// No connection, or one that broke.
    #[error("the LLM server cannot be reached ({detail}); check the base URL, the network and that the server runs")]
    Transport {
        /// The cause.
        detail: String,
    },
    /// The connection closed before the whole body had come.
    #[error(
        "the LLM server's reply was cut short ({detail}); try again, and look at the server's log if it happens again"
    )]
    TruncatedBody {
        /// The cause.
        detail: String,
    },
    /// The reply is larger than any reply has reason to be.
    #[error(
        "the reply is larger than {limit_bytes} bytes, far more than proposals need; check that it comes from a model"
    )]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// Success, but not JSON.
    #[error(
        "the LLM server answered {content_type}, not JSON ({excerpt}); check that the base URL is the API's, usually ending in /v1"
    )]
    NotJson {
        /// The content type it claims.
        content_type: String,
        /// How the body begins.
        excerpt: String,
    },
    /// JSON, but not what the protocol says.
    #[error(
        "the LLM server's JSON is not a completion ({detail}); check that it speaks the OpenAI chat/completions protocol, or Anthropic's with --llm anthropic:URL"
    )]
    Malformed {
        /// What is missing.
        detail: String,
    },
    /// A valid completion that says nothing.
    #[error(
        "the model answered with nothing ({detail}); raise the server's output-token limit or choose another model"
    )]
    Empty {
        /// Why, as far as the server says.
        detail: String,
    },
    /// The model declined.
    #[error("the model declined to propose ({excerpt}); choose another model")]
    Refused {
        /// Its words.
        excerpt: String,
    },
    /// The model came to the most that it may write before a proposal was whole.
    #[error(
        "the model's reply was cut short before it held a whole proposal ({excerpt}); raise the server's output-token limit, or choose a model that thinks less"
    )]
    CutShort {
        /// How the text begins.
        excerpt: String,
    },
    /// The model answered, twice, with no schedule in either text.
    #[error(
        "the model answered prose instead of JSON proposals, even when asked again ({excerpt}); choose a model that follows instructions"
    )]
    Prose {
        /// How the last text begins.
        excerpt: String,
    },
    /// The folder of prompts and replies, or a transcript, cannot be used.
    #[error("{action} {} failed ({source}); check that the folder or the transcript is there, and may be read and written", .path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Nobody wrote the reply file.
    #[error("no reply appeared in {} within {} s; write it there, or allow more time with --llm-patience", .path.display(), .waited.as_secs())]
    NoReplyFile {
        /// Where it was awaited.
        path: PathBuf,
        /// For how long.
        waited: Duration,
    },
    /// The model has cost what it may cost.
    #[error("the model has reached its cap ({reached}); raise the cap to hear more of it")]
    Capped {
        /// Which cap, and what was spent.
        reached: String,
    },
    /// The model was given up earlier in the run.
    #[error("the model is not asked now, since it failed before ({reason})")]
    GivenUp {
        /// Its last error, with the remedy.
        reason: String,
    },
    /// The transcript does not go that far.
    #[error("{} holds no exchange {position} about {topic}; record one with the model itself", .path.display())]
    NoExchange {
        /// The transcript.
        path: PathBuf,
        /// The exchange that was asked for.
        position: u32,
        /// About what.
        topic: String,
    },
    /// The model failed when the transcript was recorded.
    #[error("in the transcript: {text}")]
    Recorded {
        /// The error's text.
        text: String,
        /// Whether the next request might have succeeded.
        transient: bool,
    },
    /// Somebody ended the run while the model was waited for.
    #[error("interrupted while waiting for the model; the same command goes on")]
    Interrupted,
}

impl LlmError {
    /// Whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        use LlmError::{RateLimited, Recorded, Server, Timeout, Transport, TruncatedBody};
        let recorded = matches!(self, Recorded { transient: true, .. });
        recorded
            || matches!(
                self,
                RateLimited { .. } | Server { .. } | Timeout { .. } | Transport { .. } | TruncatedBody { .. }
            )
    }

    /// Whether it is the model's words that were of no use, which the next may be.
    pub fn is_slip(&self) -> bool {
        use LlmError::{CutShort, Empty, Prose, Refused};
        matches!(self, Prose { .. } | Empty { .. } | CutShort { .. } | Refused { .. })
    }

    /// Whether it says nothing of the next request: somebody's cap, key press or folder, or what was said before.
    pub fn is_of_one_request(&self) -> bool {
        use LlmError::{Capped, File, GivenUp, Interrupted, NoExchange, Recorded};
        matches!(self, Capped { .. } | File { .. } | GivenUp { .. } | Interrupted | NoExchange { .. } | Recorded { .. })
    }

    /// Whether no request to this server, with this key and model, can succeed.
    pub fn is_final(&self) -> bool {
        use LlmError::{BadKey, BadUrl, NotJson, OutOfQuota, Redirected, Rejected, Unauthorized};
        matches!(
            self,
            BadUrl { .. }
                | BadKey { .. }
                | Unauthorized { .. }
                | Rejected { .. }
                | Redirected { .. }
                | OutOfQuota { .. }
                | NotJson { .. }
        )
    }

    /// How long the server asks to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            LlmError::RateLimited { retry_after, .. } | LlmError::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Most characters of somebody else's text that a message repeats.
const EXCERPT_CHARS: usize = 200;

/// The beginning of `text` on one line, fit for an error message or a log.
pub(super) fn excerpt(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    shorten(&words.join(" "), EXCERPT_CHARS)
}

/// At most `chars` characters of `text`, with an ellipsis for what is left out.
pub(super) fn shorten(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
