//! The options that concern the language model.

use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::anthropic::Anthropic;
use super::extras::{Extras, Header, query_pair};
use super::guard::Caps;
use super::http::Limits;
use crate::options::not_negative;

/// The language model and what it may cost.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Language model")]
pub struct LlmArgs {
    /// A language model that proposes: the base URL of an OpenAI-compatible server (key from OPENAI_API_KEY);
    /// anthropic, or anthropic:URL (key from ANTHROPIC_API_KEY); file:DIR to exchange prompts and replies through a
    /// folder; or replay:FILE to answer from the transcript of an earlier run.
    #[arg(long, value_name = "URL|anthropic|file:DIR|replay:FILE")]
    pub llm: Option<String>,
    /// The model to ask for.
    #[arg(long, requires = "llm", value_name = "NAME")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'n> {
    /// An OpenAI-compatible server.
    OpenAi(&'n str),
    /// Anthropic, or a server that speaks its protocol.
    Anthropic(&'n str),
    /// A folder.
    Folder(&'n Path),
    /// A transcript.
    Transcript(&'n Path),
}

impl<'n> Named<'n> {
    fn of(name: &'n str) -> Self {
        match name.split_once(':') {
            Some(("file", folder)) => Named::Folder(Path::new(folder)),
            Some(("replay", file)) => Named::Transcript(Path::new(file)),
            Some(("anthropic", url)) => Named::Anthropic(url),
            None if name == "anthropic" => Named::Anthropic(Anthropic::DEFAULT_BASE_URL),
            _ => Named::OpenAi(name),
        }
    }
}

impl LlmArgs {
    /// What `--llm` names, if anything.
    pub fn named(&self) -> Option<Named<'_>> {
        self.llm.as_deref().map(Named::of)
    }

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
