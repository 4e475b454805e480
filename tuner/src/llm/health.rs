//! Whether a model is worth asking: what it cost to find that out for one target holds for all.

use std::time::{Duration, Instant};

use super::error::LlmError;

/// Requests in a row that may fail, retries and all, before the model is given up for a while.
const PATIENCE: u32 = 2;
/// For how long.
const WHILE: Duration = Duration::from_secs(600);

/// How a model's last requests went.
#[derive(Debug, Default)]
pub struct Health {
    failures: u32,
    given_up: Option<GivenUp>,
}

#[derive(Debug)]
struct GivenUp {
    reason: String,
    /// When it may be asked again; never, where no request can succeed.
    again: Option<Instant>,
}

impl Health {
    /// # Errors
    /// The model was given up, and its time has not come.
    pub fn check(&mut self, now: Instant) -> Result<(), LlmError> {
        let Some(GivenUp { reason, again }) = &self.given_up else { return Ok(()) };
        if again.is_some_and(|again| now >= again) {
            self.given_up = None;
            return Ok(());
        }
        Err(LlmError::GivenUp { reason: reason.clone() })
    }

    /// Gives the model up for a while, unless `error` says nothing of the next request.
    pub fn give_up(&mut self, error: &LlmError, now: Instant) {
        if self.given_up.is_none() && !error.is_of_one_request() {
            self.given_up = Some(GivenUp { reason: error.to_string(), again: Some(now + WHILE) });
        }
    }

    /// Notes how a request ended. What the model says, or does not say, tells nothing of the next request.
    pub fn note<T>(&mut self, answer: &Result<T, LlmError>, now: Instant) {
        match answer {
            Err(error) if error.is_final() => {
                self.given_up = Some(GivenUp { reason: error.to_string(), again: None });
            }
            Err(error) if error.is_transient() => {
                self.failures += 1;
                if self.failures >= PATIENCE {
                    self.given_up = Some(GivenUp { reason: error.to_string(), again: Some(now + WHILE) });
                }
            }
            _ => self.failures = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Result<(), LlmError> {
        Err(LlmError::Transport { detail: "connection refused".to_owned() })
    }

    #[test]
    fn a_server_that_cannot_be_reached_is_given_up_for_a_while() {
        let (mut health, now) = (Health::default(), Instant::now());
        health.note(&refused(), now);
        assert!(health.check(now).is_ok(), "once is no reason");
        health.note(&refused(), now);
        let error = health.check(now + WHILE / 2).unwrap_err();
        assert!(error.to_string().contains("connection refused") && !error.is_transient(), "{error}");
        assert!(health.check(now + WHILE).is_ok());
        health.note(&refused(), now + WHILE);
        assert!(health.check(now + WHILE).is_err(), "it has not got better");
    }

    #[test]
    fn a_refused_key_is_refused_for_good_and_an_empty_answer_is_none() {
        let (mut health, now) = (Health::default(), Instant::now());
        for _ in 0..5 {
            health.note::<()>(&Err(LlmError::Empty { detail: String::new() }), now);
            assert!(health.check(now).is_ok());
        }
        health.note(&refused(), now);
        health.note(&Ok(()), now);
        health.note(&refused(), now);
        assert!(health.check(now).is_ok(), "an answer between two failures");
        let detail = String::new();
        health.note::<()>(&Err(LlmError::Unauthorized { status: 401, detail, remedy: String::new() }), now);
        assert!(health.check(now + 100 * WHILE).is_err());
    }
}
