//! The options that concern the language model.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use super::anthropic::Anthropic;
use super::extras::{Extras, Header, query_pair};
use super::guard::Caps;
use super::http::Limits;
use crate::options::{Unrepeated, not_negative};

/// The language model and what it may cost.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Language model")]
pub struct LlmArgs {
    /// A language model that proposes: the base URL of an OpenAI-compatible server (key from OPENAI_API_KEY);
    /// anthropic, or anthropic:URL (key from ANTHROPIC_API_KEY); file:DIR to exchange prompts and replies through a
    /// folder; or replay:FILE to answer from the transcript of an earlier run.
    #[arg(long, value_name = "URL|anthropic|file:DIR|replay:FILE", value_parser = Unrepeated::<Named>::new())]
    pub llm: Option<Named>,
    /// The model to ask for.
    #[arg(long, requires = "llm", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub model: Option<String>,
    /// The environment variable that holds the key [default: OPENAI_API_KEY or ANTHROPIC_API_KEY].
    #[arg(long, requires = "llm", value_name = "VARIABLE")]
    pub llm_key_env: Option<String>,
    /// Go on without the model once it has read and written this many tokens.
    #[arg(long, requires = "llm", value_name = "TOKENS")]
    pub llm_max_tokens: Option<u64>,
    /// Go on without the model once it has cost this much, in the unit of the prices.
    #[arg(long, requires_all = ["llm", "llm_input_price", "llm_output_price"], value_name = "COST", value_parser = not_negative)]
    pub llm_max_cost: Option<f64>,
    /// The price of a million tokens that the model reads.
    #[arg(long, requires = "llm", value_name = "PRICE", value_parser = not_negative)]
    pub llm_input_price: Option<f64>,
    /// The price of a million tokens that the model writes.
    #[arg(long, requires = "llm", value_name = "PRICE", value_parser = not_negative)]
    pub llm_output_price: Option<f64>,
    /// Go on without the model once it was waited for this long.
    #[arg(long, requires = "llm", value_name = "MINUTES", value_parser = not_negative)]
    pub llm_max_minutes: Option<f64>,
    /// How long one request may take, in seconds [default: 300].
    #[arg(long, requires = "llm", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub llm_timeout: Option<u64>,
    /// How freely the model draws its words [default: the server's].
    #[arg(long, requires = "llm", value_name = "TEMPERATURE", value_parser = not_negative)]
    pub llm_temperature: Option<f64>,
    /// A header of every request, NAME=VALUE, or NAME=env:VARIABLE for a secret; may be repeated.
    #[arg(long, requires = "llm", value_name = "NAME=VALUE")]
    pub llm_header: Vec<Header>,
    /// A pair of every request's query, such as api-version=2024-10-21; may be repeated.
    #[arg(long, requires = "llm", value_name = "NAME=VALUE", value_parser = query_pair)]
    pub llm_query: Vec<String>,
    /// Let the reply come in pieces, for proxies that cut off silent connections.
    #[arg(long, requires = "llm")]
    pub llm_stream: bool,
    /// How long a reply file is waited for, in seconds.
    #[arg(long, requires = "llm", value_name = "SECONDS", default_value_t = 3600.0, value_parser = not_negative)]
    pub llm_patience: f64,
    /// What happens when no reply file has come by then.
    #[arg(long, requires = "llm", value_enum, value_name = "WHAT", default_value_t = Unanswered::GoOn)]
    pub llm_unanswered: Unanswered,
}

/// What happens when a prompt has stayed unanswered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Unanswered {
    /// The built-in search proposes for the rest of the search, and for those that begin in the next ten minutes.
    #[default]
    GoOn,
    /// The run ends with exit code 4; the same command goes on once the reply is there.
    Stop,
}

/// What `--llm` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// An OpenAI-compatible server.
    OpenAi(String),
    /// Anthropic, or a server that speaks its protocol.
    Anthropic(String),
    /// A folder.
    Folder(PathBuf),
    /// A transcript.
    Transcript(PathBuf),
}

impl FromStr for Named {
    /// Does not repeat the text: a URL may hold a password.
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once(':') {
            Some(("file", "")) => Err("--llm file: names no folder; write one, as in --llm file:model"),
            Some(("replay", "")) => Err("--llm replay: names no file; write one, as in --llm replay:transcript.jsonl"),
            Some(("file", folder)) => Ok(Named::Folder(folder.into())),
            Some(("replay", file)) => Ok(Named::Transcript(file.into())),
            Some(("anthropic", url)) if is_of_http(url) => Ok(Named::Anthropic(url.to_owned())),
            None if text == "anthropic" => Ok(Named::Anthropic(Anthropic::DEFAULT_BASE_URL.to_owned())),
            _ if is_of_http(text) => Ok(Named::OpenAi(text.to_owned())),
            _ => Err(
                "--llm names no language model; write the base URL of a server, which begins with http:// or https://, anthropic, \
                 anthropic:URL, file:DIR or replay:FILE",
            ),
        }
    }
}

/// Whether it begins as a URL of a server does.
fn is_of_http(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme)))
}

impl fmt::Display for Named {
    /// As it is written behind `--llm`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::OpenAi(url) => f.write_str(url),
            Named::Anthropic(url) => write!(f, "anthropic:{url}"),
            Named::Folder(folder) => write!(f, "file:{}", folder.display()),
            Named::Transcript(file) => write!(f, "replay:{}", file.display()),
        }
    }
}

impl LlmArgs {
    /// What the model may cost.
    pub fn caps(&self) -> Caps {
        let minutes = |minutes: f64| Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX);
        Caps {
            tokens: self.llm_max_tokens,
            cost: self.llm_max_cost,
            time: self.llm_max_minutes.map(minutes),
            input_price: self.llm_input_price.unwrap_or(0.0),
            output_price: self.llm_output_price.unwrap_or(0.0),
        }
    }

    /// What a server is told beside the protocol.
    pub fn extras(&self) -> Extras {
        let (headers, query) = (self.llm_header.clone(), self.llm_query.clone());
        Extras { headers, query, temperature: self.llm_temperature, stream: self.llm_stream }
    }

    /// How long and how much a server may take.
    pub fn limits(&self) -> Limits {
        let limits = Limits::default();
        Limits { whole: self.llm_timeout.map_or(limits.whole, Duration::from_secs), ..limits }
    }

    /// How long a reply file is waited for.
    pub fn patience(&self) -> Duration {
        Duration::try_from_secs_f64(self.llm_patience).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_model_is_refused_with_what_does_and_is_not_repeated() {
        for text in [
            "",
            "foo",
            "file",
            "localhost:11434",
            "ftp://model",
            "anthropic:",
            "anthropic:foo",
            "htps://me:secret@host",
        ] {
            let message = text.parse::<Named>().unwrap_err();
            assert!(
                message.contains("http://") && message.contains("file:DIR") && !message.contains("secret"),
                "{text}"
            );
        }
        assert!("file:".parse::<Named>().unwrap_err().contains("no folder"));
        assert!("replay:".parse::<Named>().unwrap_err().contains("no file"));
    }

    #[test]
    fn what_names_a_model_is_written_as_it_was_read() {
        for text in
            ["http://localhost:11434/v1", "HTTPS://host/v1", "anthropic:https://host", "file:model", "replay:a:b"]
        {
            assert_eq!(text.parse::<Named>().unwrap().to_string(), text);
        }
        let anthropic = Named::Anthropic(Anthropic::DEFAULT_BASE_URL.to_owned());
        assert_eq!("anthropic".parse(), Ok(anthropic));
    }
}
