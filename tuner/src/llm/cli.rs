//! The options that concern the language model.

use std::time::Duration;

use clap::{Args, ValueEnum};

/// The language model and what it may cost.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Language model")]
pub struct LlmArgs {
    /// A language model that proposes: the base URL of an OpenAI-compatible server (key from OPENAI_API_KEY), or
    /// file:DIR to exchange prompts and replies through a folder.
    #[arg(long, value_name = "URL|file:DIR")]
    pub llm: Option<String>,
    /// The model to ask for.
    #[arg(long, requires = "llm", value_name = "NAME")]
    pub model: Option<String>,
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
    /// The built-in search proposes for the rest of the run.
    #[default]
    GoOn,
    /// The run ends with exit code 4; the same command goes on once the reply is there.
    Stop,
}

impl LlmArgs {
    /// How long a reply file is waited for.
    pub fn patience(&self) -> Duration {
        Duration::try_from_secs_f64(self.llm_patience).unwrap_or(Duration::MAX)
    }
}

/// A number from 0 up.
fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}` is not a number from 0 up"))
}
