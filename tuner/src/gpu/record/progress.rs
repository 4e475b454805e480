//! Plain lines that say how far a recording is.

use std::time::{Duration, Instant};

use autokernel_codegen::schedule::Schedule;
use autokernel_core::Ms;

use crate::Target;
use crate::outcome::Outcome;

/// How often a line is printed.
const INTERVAL: Duration = Duration::from_secs(5);

/// Counts, and now and then prints.
pub struct Progress<'t> {
    target: &'t Target,
    total: usize,
    tried: usize,
    failed: usize,
    fastest: Option<(f64, Schedule)>,
    begun: Instant,
    printed: Instant,
}

impl<'t> Progress<'t> {
    /// Progress towards `total` schedules.
    pub fn new(target: &'t Target, total: usize) -> Self {
        let now = Instant::now();
        Progress { target, total, tried: 0, failed: 0, fastest: None, begun: now, printed: now }
    }

    /// Counts an outcome.
    pub fn count(&mut self, schedule: Schedule, outcome: &Outcome) {
        self.tried += 1;
        match outcome {
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Measured(measured) => {
                if self.fastest.is_none_or(|(fastest, _)| measured.median_ms < fastest) {
                    self.fastest = Some((measured.median_ms, schedule));
                }
            }
        }
        if self.printed.elapsed() >= INTERVAL {
            self.printed = Instant::now();
            outln!("{}", self.line());
        }
    }

    /// The line of this moment.
    pub fn line(&self) -> String {
        let Progress { target, total, tried, failed, .. } = self;
        let rate = *tried as f64 / self.begun.elapsed().as_secs_f64().max(1e-3);
        let left_s = (total - tried.min(total)) as f64 / rate.max(1e-3);
        let fastest = self.fastest.map_or_else(String::new, |(ms, schedule)| {
            format!(", fastest {} ({:.1} TFLOP/s): {schedule}", Ms(ms), target.tflops(ms))
        });
        format!(
            "{}: {tried}/{total} schedules, {failed} failed, {rate:.1}/s, {left_s:.0} s left{fastest}",
            target.shape
        )
    }
}
