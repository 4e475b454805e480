//! The API key: read from the environment, never written anywhere.

use std::env::VarError;
use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::error::LlmError;

/// What stands for the key wherever it would have been printed.
const REDACTED: &str = "[redacted]";

/// An API key. Printing it in any way gives `[redacted]`; its memory is wiped when it is dropped.
#[derive(Clone)]
pub struct Key {
    secret: SecretString,
    variable: String,
}

impl Key {
    /// The variable that OpenAI's own tools read.
    pub const DEFAULT_VARIABLE: &'static str = "OPENAI_API_KEY";
    /// The variable that Anthropic's own tools read.
    pub const ANTHROPIC_VARIABLE: &'static str = "ANTHROPIC_API_KEY";

    /// The key in the environment variable `variable`; `None` if it is unset or blank.
    ///
    /// # Errors
    /// The value cannot be sent in an HTTP header.
    pub fn from_env(variable: &str) -> Result<Option<Key>, LlmError> {
        Key::from_lookup(variable, |variable| std::env::var(variable))
    }

    /// The same from another environment than the process's own: `lookup` stands for [`std::env::var`].
    ///
    /// # Errors
    /// The value cannot be sent in an HTTP header.
    pub fn from_lookup(
        variable: &str,
        lookup: impl FnOnce(&str) -> Result<String, VarError>,
    ) -> Result<Option<Key>, LlmError> {
        match lookup(variable) {
            Ok(value) => Key::new(&value, variable),
            Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(_)) => {
                Err(LlmError::BadKey { variable: variable.to_owned(), reason: "is not text" })
            }
        }
    }

    fn new(value: &str, variable: &str) -> Result<Option<Key>, LlmError> {
        let value = value.trim();
        if value.is_empty() {
            return Ok(None);
        }
        if !value.chars().all(|c| c.is_ascii_graphic()) {
            let reason = "holds blanks or characters that no key has";
            return Err(LlmError::BadKey { variable: variable.to_owned(), reason });
        }
        Ok(Some(Key { secret: SecretString::from(value), variable: variable.to_owned() }))
    }

    /// The environment variable it came from.
    pub fn variable(&self) -> &str {
        &self.variable
    }

    /// The key itself, for a request header alone.
    pub(super) fn expose(&self) -> &str {
        self.secret.expose_secret()
    }

    /// `text` without the key: servers repeat what they refuse.
    pub(super) fn scrub(&self, text: String) -> String {
        if text.contains(self.expose()) { text.replace(self.expose(), REDACTED) } else { text }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: &str) -> Key {
        Key::new(value, "SOME_KEY").unwrap().unwrap()
    }

    #[test]
    fn a_key_prints_as_redacted_in_every_way() {
        let key = key("sk-abcdef");
        assert_eq!(format!("{key} {key:?} {key:#?}"), "[redacted] [redacted] [redacted]");
    }

    #[test]
    fn a_key_is_scrubbed_from_what_a_server_repeats() {
        assert_eq!(key("sk-abcdef").scrub("bad key sk-abcdef!".into()), "bad key [redacted]!");
    }

    #[test]
    fn blanks_around_a_key_do_not_count_and_a_blank_key_is_none() {
        assert_eq!(key(" sk-abcdef\n").expose(), "sk-abcdef");
        assert!(Key::new(" \n", "SOME_KEY").unwrap().is_none());
        assert!(Key::from_env("AUTOKERNEL_TEST_SURELY_UNSET").unwrap().is_none());
    }

    #[test]
    fn a_value_that_is_no_key_names_its_variable_and_not_itself() {
        let message = Key::new("two words", "SOME_KEY").unwrap_err().to_string();
        assert!(message.contains("SOME_KEY") && !message.contains("two words"), "{message}");
    }
}
