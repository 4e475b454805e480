//! When a failed request is sent again: exponential backoff with jitter, or when the server says so.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};

use super::error::LlmError;

/// How often and after what waits a transient fault is tried again.
#[derive(Clone)]
pub struct Retry {
    /// Requests sent at most, the first included.
    pub attempts: usize,
    /// The first wait, before jitter; each later one is twice as long.
    pub first_wait: Duration,
    /// No wait is longer, whatever the server asks for.
    pub longest_wait: Duration,
    /// No request is sent later than this after the first: several timeouts in a row must not hold up a run.
    pub give_up_after: Duration,
    /// What waits: `std::thread::sleep`, unless a test or an interruptible run puts its own here.
    pub sleep: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            attempts: 5,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            give_up_after: Duration::from_secs(600),
            sleep: Arc::new(std::thread::sleep),
        }
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Retry { attempts, first_wait, longest_wait, give_up_after, sleep: _ } = self;
        write!(f, "Retry({attempts} attempts, {first_wait:?} to {longest_wait:?} apart, within {give_up_after:?})")
    }
}

impl Retry {
    /// The first success of `request`, or its last error. Errors that were got over are noted in `retried`.
    pub(super) fn call<T>(
        &self,
        retried: &mut Vec<String>,
        mut request: impl FnMut() -> Result<T, LlmError>,
    ) -> Result<T, LlmError> {
        let backoff = ExponentialBuilder::default()
            .with_min_delay(self.first_wait)
            .with_max_delay(self.longest_wait)
            .with_max_times(self.attempts.saturating_sub(1))
            .with_jitter();
        let start = Instant::now();
        for wait in backoff.build() {
            let error = match request() {
                Err(error) if error.is_transient() => error,
                settled => return settled,
            };
            let wait = error.retry_after().unwrap_or(wait).min(self.longest_wait);
            if start.elapsed() + wait > self.give_up_after {
                return Err(error);
            }
            tracing::warn!(wait = ?Duration::from_millis(wait.as_millis() as u64 / 100 * 100), %error, "asking the LLM again");
            retried.push(error.to_string());
            (self.sleep)(wait);
        }
        request()
    }
}

/// The wait that a `Retry-After` header asks for: seconds, or an HTTP date (RFC 9110, 10.2.3).
pub(super) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(header).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The waits of a request that fails with `error` each time.
    fn waits(attempts: usize, error: impl Fn() -> LlmError) -> Vec<Duration> {
        let waits = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&waits);
        let sleep = Arc::new(move |wait| noted.lock().unwrap().push(wait));
        let retry = Retry { attempts, sleep, ..Retry::default() };
        retry.call(&mut Vec::new(), || Err::<(), _>(error())).unwrap_err();
        waits.lock().unwrap().clone()
    }

    fn server(retry_after: Option<Duration>) -> LlmError {
        LlmError::Server { status: 500, detail: String::new(), retry_after }
    }

    #[test]
    fn waits_grow_stay_under_the_cap_and_end_with_the_attempts() {
        let waits = waits(9, || server(None));
        assert_eq!(waits.len(), 8);
        for (index, wait) in waits.iter().enumerate() {
            let least = Duration::from_secs(1 << index).min(Duration::from_secs(60));
            assert!((least..=Duration::from_secs(60)).contains(wait), "wait {index} is {wait:?}");
        }
    }

    #[test]
    fn two_runs_do_not_wait_in_step() {
        assert_ne!(waits(4, || server(None)), waits(4, || server(None)));
    }

    #[test]
    fn the_servers_wish_is_the_wait_up_to_the_cap() {
        assert_eq!(waits(2, || server(Some(Duration::from_secs(7)))), [Duration::from_secs(7)]);
        assert_eq!(waits(2, || server(Some(Duration::from_secs(86_400)))), [Duration::from_secs(60)]);
    }

    #[test]
    fn no_request_is_sent_after_the_time_for_all_of_them() {
        let mut requests = 0;
        let sleep = Arc::new(|_| ());
        let retry = Retry { give_up_after: Duration::from_secs(3), sleep, ..Retry::default() };
        let wished = Some(Duration::from_secs(4));
        retry.call(&mut Vec::new(), || Err::<(), _>((requests += 1, server(wished)).1)).unwrap_err();
        assert_eq!(requests, 1);
    }

    #[test]
    fn a_lasting_fault_is_not_tried_again() {
        assert!(waits(5, || LlmError::Rejected { status: 404, detail: String::new() }).is_empty());
    }

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_date() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2015 07:28:00 GMT").unwrap();
        assert_eq!(retry_after(" 120 ", now), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:30 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:27:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
    }
}
