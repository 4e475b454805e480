//! What every call of a model passes: it may not cost more than it is allowed to, and it ends at once when the run is to
//! end.

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::LlmError;
use super::health::Health;
use super::provider::{JsonSchema, Message, Provider, Reply, Usage};
use crate::stop::Stop;

/// How often a waiting call looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of a token, roughly, where a server does not count.
const BYTES_PER_TOKEN: u64 = 4;

/// What a model may cost in one run of the tuner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Caps {
    /// Tokens, read and written together.
    pub tokens: Option<u64>,
    /// Money, in the unit of the prices.
    pub cost: Option<f64>,
    /// Time spent waiting for it.
    pub time: Option<Duration>,
    /// The price of a million tokens read.
    pub input_price: f64,
    /// The price of a million tokens written.
    pub output_price: f64,
}

/// What a model has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Requests that were answered or failed.
    pub requests: u32,
    /// Tokens; where the server does not count them, a quarter of the bytes.
    pub usage: Usage,
    /// Money, in the unit of the prices.
    pub cost: f64,
    /// Time spent waiting.
    pub time: Duration,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spent { requests, usage: Usage { input_tokens, output_tokens }, cost, time } = self;
        write!(f, "{requests} requests, {input_tokens} tokens read and {output_tokens} written")?;
        if *cost > 0.0 {
            write!(f, ", {cost:.4} at the prices given")?;
        }
        write!(f, ", {:.1} s of waiting", time.as_secs_f64())
    }
}

/// A model that may cost so much and no more, whose calls end when the run is to end, and that is not asked once it is known
/// not to answer.
///
/// A cap is looked at before each request, the time also during one: the request that passes a cap is the last.
/// The call itself runs on a thread of its own. A call that is given up goes on there until its own limits or the
/// process end it; what it answers is dropped.
pub struct Guard {
    inner: Arc<dyn Provider>,
    stop: Stop,
    caps: Caps,
    spent: Mutex<Spent>,
    health: Mutex<Health>,
    announce: fn(&str),
    /// How often a person is told that a model still thinks.
    word: Duration,
}

/// So often, unless a test is in more of a hurry.
const WORD: Duration = Duration::from_secs(15);

impl Guard {
    /// `inner` within `caps`, until `stop` is requested.
    pub fn new(inner: Arc<dyn Provider>, caps: Caps, stop: Stop) -> Self {
        Guard { inner, stop, caps, spent: Mutex::default(), health: Mutex::default(), announce: |_| (), word: WORD }
    }

    /// The same, which tells `announce` now and then that a model still thinks.
    pub fn announcing(self, announce: fn(&str)) -> Self {
        Guard { announce, ..self }
    }

    /// What the model has cost so far.
    pub fn spent(&self) -> Spent {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cap that is reached, in words.
    fn reached(&self, time: Duration) -> Option<String> {
        let (caps, spent) = (&self.caps, self.spent());
        let tokens = spent.usage.input_tokens.saturating_add(spent.usage.output_tokens);
        if let Some(cap) = caps.tokens.filter(|&cap| tokens >= cap) {
            return Some(format!("--llm-max-tokens {cap}: {tokens} tokens"));
        }
        if let Some(cap) = caps.cost.filter(|&cap| spent.cost >= cap) {
            return Some(format!("--llm-max-cost {cap}: {:.4}", spent.cost));
        }
        let cap = caps.time.filter(|&cap| spent.time + time >= cap)?;
        Some(format!("--llm-max-minutes {}: {:.1} s", cap.as_secs_f64() / 60.0, (spent.time + time).as_secs_f64()))
    }

    fn wait(&self, told: &mpsc::Receiver<Result<Reply, LlmError>>, start: Instant) -> Result<Reply, LlmError> {
        let mut next = self.word;
        loop {
            if start.elapsed() >= next {
                (self.announce)(&format!("{} has been thinking for {} s", self.name(), next.as_secs()));
                next += self.word;
            }
            match told.recv_timeout(LOOK) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if self.stop.is_requested() => return Err(LlmError::Interrupted),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(reached) = self.reached(start.elapsed()) {
                        return Err(LlmError::Capped { reached });
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LlmError::Transport { detail: "the call ended without an answer".to_owned() });
                }
            }
        }
    }

    fn count(&self, messages: &[Message], answer: &Result<Reply, LlmError>, time: Duration) {
        let mut spent = self.lock();
        spent.requests += 1;
        spent.time += time;
        let Ok(reply) = answer else { return };
        let usage = if reply.usage == Usage::default() { estimate(messages, reply) } else { reply.usage };
        spent.usage += usage;
        let price = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        spent.cost +=
            price(usage.input_tokens, self.caps.input_price) + price(usage.output_tokens, self.caps.output_price);
    }
}

fn estimate(messages: &[Message], reply: &Reply) -> Usage {
    let tokens = |bytes: usize| (bytes as u64).div_ceil(BYTES_PER_TOKEN);
    let asked = messages.iter().map(|message| message.content.len()).sum();
    Usage { input_tokens: tokens(asked), output_tokens: tokens(reply.text.len()) }
}

impl Provider for Guard {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn complete(&self, messages: &[Message], wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        if let Some(reached) = self.reached(Duration::ZERO) {
            return Err(LlmError::Capped { reached });
        }
        self.health().check(Instant::now())?;
        let (inner, asked, wanted) = (Arc::clone(&self.inner), messages.to_vec(), wanted.cloned());
        let (tell, told) = mpsc::channel();
        let start = Instant::now();
        std::thread::spawn(move || tell.send(inner.complete(&asked, wanted.as_ref())));
        let answer = self.wait(&told, start);
        self.count(messages, &answer, start.elapsed());
        self.health().note(&answer, Instant::now());
        answer
    }

    fn begin(&self, topic: &str) {
        self.inner.begin(topic);
    }

    fn repeats_itself(&self) -> bool {
        self.inner.repeats_itself()
    }

    /// What is answered from files or a transcript is answered alike whenever it is asked; a file that did not come is not.
    fn give_up(&self, error: &LlmError) {
        if !self.repeats_itself() || matches!(error, LlmError::NoReplyFile { .. }) {
            self.health().give_up(error, Instant::now());
        }
    }

    fn notices(&self) -> Vec<String> {
        self.inner.notices()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thinks until somebody was told twice that it does.
    struct Thinker;

    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    impl Provider for Thinker {
        fn name(&self) -> String {
            "a model".to_owned()
        }

        fn complete(&self, _: &[Message], _: Option<&JsonSchema>) -> Result<Reply, LlmError> {
            let begun = Instant::now();
            while TOLD.lock().unwrap().len() < 2 && begun.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(LlmError::Interrupted)
        }
    }

    /// Answers nothing that is of use, and counts more tokens than there are.
    struct Babbler;

    impl Provider for Babbler {
        fn name(&self) -> String {
            "a babbler".to_owned()
        }

        fn complete(&self, _: &[Message], _: Option<&JsonSchema>) -> Result<Reply, LlmError> {
            let usage = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX };
            Ok(Reply { text: "bla".to_owned(), model: String::new(), usage, retried: Vec::new(), cut_short: false })
        }
    }

    #[test]
    fn tokens_beyond_counting_reach_every_cap_and_no_overflow() {
        let capped = |tokens| {
            let guard = Guard::new(Arc::new(Babbler), Caps { tokens, ..Caps::default() }, Stop::default());
            assert!(guard.complete(&[Message::user("well?")], None).is_ok());
            guard.complete(&[Message::user("well?")], None)
        };
        assert!(capped(None).is_ok());
        assert!(matches!(capped(Some(u64::MAX)), Err(LlmError::Capped { .. })));
    }

    #[test]
    fn a_model_that_was_of_no_use_to_one_search_is_not_asked_by_the_next() {
        let guard = Guard::new(Arc::new(Babbler), Caps::default(), Stop::default());
        guard.give_up(&LlmError::Interrupted);
        assert!(guard.complete(&[Message::user("well?")], None).is_ok(), "that was no fault of the model's");
        guard.give_up(&LlmError::Prose { excerpt: "bla".to_owned() });
        let error = guard.complete(&[Message::user("well?")], None).unwrap_err();
        assert!(matches!(&error, LlmError::GivenUp { reason } if reason.contains("bla")), "{error}");
    }

    #[test]
    fn whoever_waits_for_a_model_is_told_again_and_again_that_it_thinks() {
        let guard = Guard::new(Arc::new(Thinker), Caps::default(), Stop::default());
        let guard = Guard { word: Duration::from_millis(20), ..guard };
        let guard = guard.announcing(|line| TOLD.lock().unwrap().push(line.to_owned()));
        assert!(guard.complete(&[Message::user("well?")], None).is_err());
        let told = TOLD.lock().unwrap();
        assert!(
            told.len() >= 2 && told.iter().all(|line| line.starts_with("a model has been thinking for ")),
            "{told:?}"
        );
    }
}
