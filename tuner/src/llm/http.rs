//! One POST of JSON, with every limit that a stranger's server calls for.

use std::io::{self, Read};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use ureq::http::{HeaderMap, Response, Uri, header};
use ureq::{Agent, Body, Timeout};

use super::error::{LlmError, excerpt};
use super::extras::{self, Extras, Header};
use super::key::Key;
use super::retry::retry_after;
use super::stream;

/// How long and how much a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For name lookup, connection and TLS.
    pub connect: Duration,
    /// For the whole exchange: large models think for minutes.
    pub whole: Duration,
    /// Of the reply's body, in bytes.
    pub body_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connect: Duration::from_secs(10), whole: Duration::from_secs(300), body_bytes: 4 << 20 }
    }
}

/// How a server is told the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Auth {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `x-api-key: …`, with the version of the protocol.
    Anthropic,
}

/// The version of Anthropic's protocol that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl Auth {
    /// The variable that holds the key unless another is named.
    fn variable(self) -> &'static str {
        match self {
            Auth::Bearer => Key::DEFAULT_VARIABLE,
            Auth::Anthropic => Key::ANTHROPIC_VARIABLE,
        }
    }
}

/// A server that is asked with POST.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    url: String,
    auth: Auth,
    key: Option<Key>,
    limits: Limits,
    extras: Extras,
}

impl Client {
    /// A client of `base_url` + `path`.
    ///
    /// # Errors
    /// The URL is not a plain http(s) one.
    pub fn new(base_url: &str, path: &str, auth: Auth, key: Option<Key>, limits: Limits) -> Result<Client, LlmError> {
        let uri = check_url(base_url)?;
        if key.is_some() && uri.scheme_str() == Some("http") && !is_loopback(&uri) {
            tracing::warn!("the LLM key travels unencrypted: the base URL is http and not on this machine");
        }
        let config = Agent::config_builder()
            .timeout_connect(Some(limits.connect))
            .timeout_global(Some(limits.whole))
            // Status codes are told apart below; a redirect would turn the POST into a GET and send the prompt elsewhere.
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        // A proxy from the environment cannot reach a server on this machine.
        let config = if is_loopback(&uri) { config.proxy(None) } else { config };
        let base = base_url.trim_end_matches('/').trim_end_matches(path);
        Ok(Client {
            agent: config.build().new_agent(),
            url: format!("{base}{path}"),
            auth,
            key,
            limits,
            extras: Extras::default(),
        })
    }

    /// The same client, which says more in every request.
    pub fn with(mut self, extras: Extras) -> Self {
        if !extras.query.is_empty() {
            self.url += &format!("?{}", extras.query.join("&"));
        }
        Client { extras, ..self }
    }

    /// The JSON that the server answers `body` with.
    ///
    /// # Errors
    /// Everything but a success status with a JSON body.
    pub fn post(&self, body: &Value) -> Result<Value, LlmError> {
        let mut request = self.agent.post(&self.url);
        if self.auth == Auth::Anthropic {
            request = request.header("anthropic-version", ANTHROPIC_VERSION);
        }
        if let Some(key) = &self.key {
            request = match self.auth {
                Auth::Bearer => request.header(header::AUTHORIZATION, format!("Bearer {}", key.expose())),
                Auth::Anthropic => request.header("x-api-key", key.expose()),
            };
        }
        for Header { name, value } in &self.extras.headers {
            request = match value {
                extras::Value::Plain(value) => request.header(name, value),
                extras::Value::Secret(key) => request.header(name, key.expose()),
            };
        }
        let mut body = body.clone();
        if let Some(temperature) = self.extras.temperature {
            body["temperature"] = temperature.into();
        }
        if self.extras.stream {
            body["stream"] = true.into();
        }
        let response = request.send_json(&body).map_err(|error| self.fault(error, "waiting for the reply"))?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let text = self.read(response);
        if !(200..300).contains(&status) {
            // Half of an error's explanation is as good as none, but its status still counts.
            return Err(self.refused(status, &headers, &text.unwrap_or_default()));
        }
        let text = text?;
        // Some servers answer in pieces though nobody asked.
        if let Some(whole) = stream::assemble(&text) {
            return Ok(whole);
        }
        serde_json::from_str(&text).map_err(|error| self.not_json(&headers, &text, &error))
    }

    /// The body as text, without the key.
    fn read(&self, response: Response<Body>) -> Result<String, LlmError> {
        let limit = self.limits.body_bytes;
        let mut bytes = Vec::new();
        // ureq counts what comes over the wire, which may unpack to a thousand times as much.
        let mut body = response.into_body().into_with_config().limit(limit).reader().take(limit + 1);
        body.read_to_end(&mut bytes).map_err(|error| match ureq::Error::from(error) {
            error @ (ureq::Error::Timeout(_) | ureq::Error::BodyExceedsLimit(_)) => {
                self.fault(error, "reading the reply")
            }
            broken => LlmError::TruncatedBody { detail: self.scrub(broken.to_string()) },
        })?;
        if bytes.len() as u64 > limit {
            return Err(LlmError::TooLarge { limit_bytes: limit });
        }
        Ok(self.scrub(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn fault(&self, error: ureq::Error, phase: &'static str) -> LlmError {
        match error {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                LlmError::Timeout { limit: self.limits.connect, phase: "connecting" }
            }
            ureq::Error::Timeout(_) => LlmError::Timeout { limit: self.limits.whole, phase },
            ureq::Error::BodyExceedsLimit(limit_bytes) => LlmError::TooLarge { limit_bytes },
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                LlmError::TruncatedBody { detail: self.scrub(error.to_string()) }
            }
            other => LlmError::Transport { detail: self.scrub(other.to_string()) },
        }
    }

    fn refused(&self, status: u16, headers: &HeaderMap, text: &str) -> LlmError {
        let (detail, code) = server_text(text);
        let retry_after =
            self.header(headers, header::RETRY_AFTER).and_then(|text| retry_after(&text, SystemTime::now()));
        match status {
            300..=399 => {
                let location =
                    self.header(headers, header::LOCATION).unwrap_or("an address it does not name".to_owned());
                LlmError::Redirected { status, location }
            }
            401 | 403 => LlmError::Unauthorized { status, detail, remedy: self.key_remedy() },
            429 if code == "insufficient_quota" => LlmError::OutOfQuota { detail },
            429 => LlmError::RateLimited { detail, retry_after },
            408 | 500.. => LlmError::Server { status, detail, retry_after },
            _ => LlmError::Rejected { status, detail },
        }
    }

    fn key_remedy(&self) -> String {
        let in_header = self.extras.headers.iter().find_map(|header| match &header.value {
            extras::Value::Secret(key) => Some(key),
            extras::Value::Plain(_) => None,
        });
        match self.key.as_ref().or(in_header) {
            Some(key) => format!("check the key in {} and that it may use this model", key.variable()),
            None => format!(
                "set {} to a key of this provider, or name the variable that holds one with --llm-key-env",
                self.auth.variable()
            ),
        }
    }

    fn not_json(&self, headers: &HeaderMap, text: &str, error: &serde_json::Error) -> LlmError {
        let content_type = self.header(headers, header::CONTENT_TYPE).unwrap_or("no content type".to_owned());
        // JSON that stops in its middle was cut, whatever the length header said.
        if error.is_eof() && content_type.contains("json") && !text.trim().is_empty() {
            return LlmError::TruncatedBody { detail: error.to_string() };
        }
        LlmError::NotJson { content_type, excerpt: excerpt(text) }
    }

    /// A header's text on one line, without the key.
    fn header(&self, headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
        let text = headers.get(name)?.to_str().ok()?;
        Some(excerpt(&self.scrub(text.to_owned())))
    }

    fn scrub(&self, text: String) -> String {
        let secret = |header: &'_ Header| match &header.value {
            extras::Value::Secret(key) => Some(key.clone()),
            extras::Value::Plain(_) => None,
        };
        let secrets = self.extras.headers.iter().filter_map(secret).chain(self.key.clone());
        secrets.fold(text, |text, key| key.scrub(text))
    }
}

fn check_url(url: &str) -> Result<Uri, LlmError> {
    let bad = |reason: &str| LlmError::BadUrl { reason: reason.to_owned() };
    let uri: Uri = url.parse().map_err(|_| bad("is not a URL"))?;
    let authority = uri.authority().ok_or_else(|| bad("names no host"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(bad("begins with neither http:// nor https://"));
    }
    if authority.as_str().contains('@') {
        return Err(bad("holds a user name or password, which belong in the environment"));
    }
    if uri.query().is_some() {
        return Err(bad("has a query part (?…)"));
    }
    Ok(uri)
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The message and the code of an error body: `{"error": {"message", "code"}}`, or a variation, or any text.
fn server_text(text: &str) -> (String, String) {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let error = json.get("error").unwrap_or(&json);
    let message = [&error["message"], error, &json["message"], &json["detail"]].into_iter().find_map(Value::as_str);
    let code = [&error["code"], &error["type"]].into_iter().find_map(Value::as_str).unwrap_or_default();
    let message = match excerpt(message.unwrap_or(text)) {
        empty if empty.is_empty() => "no explanation".to_owned(),
        message => message,
    };
    (message, code.to_owned())
}
