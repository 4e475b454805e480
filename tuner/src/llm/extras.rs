//! What a server is told beside the protocol: headers, a query, a temperature, whether to answer in pieces.

use std::str::FromStr;

use ureq::http::{HeaderName, HeaderValue};

use super::error::LlmError;
use super::key::Key;

/// What a server is told beside the protocol.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Headers of every request.
    pub headers: Vec<Header>,
    /// The query of every request: `api-version=2024-10-21`.
    pub query: Vec<String>,
    /// How freely the model draws its words; the server's own default if nothing is said.
    pub temperature: Option<f64>,
    /// Whether the reply is to come in pieces, which proxies with short limits need.
    pub stream: bool,
}

/// A header of every request. A value from the environment is a secret.
#[derive(Clone, Debug)]
pub struct Header {
    pub(super) name: HeaderName,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Plain(HeaderValue),
    Secret(Key),
}

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "write NAME=VALUE, or NAME=env:VARIABLE for a secret".to_owned();
        let (name, value) = text.split_once('=').ok_or_else(form)?;
        let name = name.trim().parse().map_err(|_| form())?;
        let Some(variable) = value.strip_prefix("env:") else {
            let value = value.parse().map_err(|_| "the value holds what no header may".to_owned())?;
            return Ok(Header { name, value: Value::Plain(value) });
        };
        let key = Key::from_env(variable).map_err(|error: LlmError| error.to_string())?;
        let key = key.ok_or_else(|| format!("the variable {variable} is not set"))?;
        Ok(Header { name, value: Value::Secret(key) })
    }
}

/// A pair of a query, whose parts are of the letters that need no escape.
///
/// # Errors
/// It is none.
pub fn query_pair(text: &str) -> Result<String, String> {
    let is_plain =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b));
    match text.split_once('=') {
        Some((name, value)) if is_plain(name) && is_plain(value) => Ok(text.to_owned()),
        _ => Err("write NAME=VALUE, other letters than A-Z, digits, - . _ ~ as %XX".to_owned()),
    }
}
