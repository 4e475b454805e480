//! The API key: read from the environment, never written anywhere.

use std::env::VarError;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD as BASE64, URL_SAFE_NO_PAD as BASE64_URL};
use secrecy::{ExposeSecret, SecretString};

use super::error::LlmError;

/// Characters of the shortest value that is kept secret, and of the shortest piece of one.
const SHORTEST: usize = 8;

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

    /// `text` without the key: servers repeat what they refuse, whole, in pieces or in base64, in which a whole header may stand. What
    /// is too short to be a secret stays: a letter that stands for a key stands in every reply.
    pub(super) fn scrub(&self, text: String) -> String {
        let key = self.expose();
        if key.len() < SHORTEST {
            return text;
        }
        let encoded: Vec<String> = (0..3).flat_map(|before| encoded(key, before)).collect();
        encoded.iter().map(String::as_str).chain([key]).fold(text, without_pieces)
    }
}

/// `key` in both alphabets of base64, behind that many bytes of a group of three. Its ends depend on what is encoded beside it.
fn encoded(key: &str, before: usize) -> [String; 2] {
    let bytes = [&[0; 2][..before], key.as_bytes()].concat();
    let own = (before * 8).div_ceil(6)..bytes.len() / 3 * 4;
    [BASE64, BASE64_URL].map(|alphabet| alphabet.encode(&bytes)[own.clone()].to_owned())
}

/// `text` without the parts of `secret` that are at least a third as long.
fn without_pieces(mut text: String, secret: &str) -> String {
    let piece = SHORTEST.max(secret.len().div_ceil(3));
    for start in 0..(secret.len() + 1).saturating_sub(piece) {
        while let Some(at) = text.find(&secret[start..start + piece]) {
            let more =
                text[at + piece..].bytes().zip(secret[start + piece..].bytes()).take_while(|(a, b)| a == b).count();
            text.replace_range(at..at + piece + more, REDACTED);
        }
    }
    text
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
    fn pieces_of_a_key_and_one_in_base64_are_scrubbed_and_a_letter_is_no_secret() {
        let scrub = |text: &str| key("sk-0123456789abcdef").scrub(text.to_owned());
        assert_eq!(scrub("sk-0123456 789abcdef"), "[redacted] [redacted]");
        assert_eq!(scrub("sk-0123 def"), "sk-0123 def", "these say too little");
        assert_eq!(scrub("sk-012345678… …56789abcdef"), "[redacted]… …[redacted]");
        assert_eq!(scrub("got c2stMDEyMzQ1Njc4OWFiY2RlZg=="), "got [redacted]Zg==");
        for header in ["Bearer ", "key: ", "x-api-key=", ""] {
            for alphabet in [BASE64, BASE64_URL] {
                let told = scrub(&alphabet.encode(format!("{header}sk-0123456789abcdef")));
                let rest = told.replace(REDACTED, "");
                assert!(told.contains(REDACTED) && rest.len() <= header.len() * 4 / 3 + 8, "{header:?}: {told}");
            }
        }
        assert_eq!(scrub("ein Schlüssel: é"), "ein Schlüssel: é");
        assert_eq!(key("x").scrub("max, next".into()), "max, next");
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
