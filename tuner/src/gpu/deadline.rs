//! Time limits that follow what was seen.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A time limit: a multiple of the slowest that went well so far, within bounds.
///
/// A fixed limit is either so long that each hang costs minutes, or so short that a slow machine loses good schedules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Before anything was seen.
    first: Duration,
    /// Never less.
    floor: Duration,
    /// Never more.
    cap: Duration,
    slowest: Option<Duration>,
}

impl Limit {
    /// How many times the slowest so far may pass.
    pub const FACTOR: u32 = 10;

    /// A limit of `first` that then is [`Limit::FACTOR`] times the slowest that was seen, but in `floor..=cap`.
    pub const fn adaptive(first: Duration, floor: Duration, cap: Duration) -> Self {
        Limit { first, floor, cap, slowest: None }
    }

    /// The same limit whatever is seen.
    pub const fn fixed(limit: Duration) -> Self {
        Limit { first: limit, floor: limit, cap: limit, slowest: None }
    }

    /// The limit for what begins now.
    pub fn now(&self) -> Duration {
        match self.slowest {
            None => self.first,
            Some(slowest) => slowest.saturating_mul(Self::FACTOR).clamp(self.floor, self.cap),
        }
    }

    /// Takes note of something that went well in that time.
    pub fn saw(&mut self, took: Duration) {
        self.slowest = Some(self.slowest.map_or(took, |slowest| slowest.max(took)));
    }

    /// Forgets what was seen: what comes next is of another size.
    pub fn forget(&mut self) {
        self.slowest = None;
    }
}

/// A [`Limit`] that threads share.
#[derive(Debug)]
pub struct SharedLimit(Mutex<Limit>);

impl SharedLimit {
    /// A shared `limit`.
    pub const fn new(limit: Limit) -> Self {
        SharedLimit(Mutex::new(limit))
    }

    /// [`Limit::now`].
    pub fn now(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now()
    }

    /// [`Limit::saw`].
    pub fn saw(&self, took: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).saw(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_limit_follows_the_slowest_that_went_well_within_its_bounds() {
        let mut limit = Limit::adaptive(20 * SECOND, 5 * SECOND, 60 * SECOND);
        assert_eq!(limit.now(), 20 * SECOND);
        limit.saw(SECOND / 10);
        assert_eq!(limit.now(), 5 * SECOND, "not below the floor");
        limit.saw(2 * SECOND);
        limit.saw(SECOND);
        assert_eq!(limit.now(), 20 * SECOND, "ten times the slowest");
        limit.saw(50 * SECOND);
        assert_eq!(limit.now(), 60 * SECOND, "not above the cap");
        limit.forget();
        assert_eq!(limit.now(), 20 * SECOND);
    }

    #[test]
    fn a_fixed_limit_stays() {
        let mut limit = Limit::fixed(3 * SECOND);
        limit.saw(9 * SECOND);
        assert_eq!(limit.now(), 3 * SECOND);
    }
}
