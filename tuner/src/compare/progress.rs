//! How far a comparison has come, on standard error: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

const TEMPLATE: &str = "{bar:30.cyan/dim} {pos} of {len} searches [{elapsed}, {eta} left]";
/// Lines of a whole comparison.
const LINES: u64 = 10;

/// The searches that have ended. Its bar goes with it.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    ended: AtomicU64,
    as_lines: bool,
}

impl Progress {
    /// Of a comparison of so many searches.
    pub fn new(searches: u64) -> Self {
        let bar = ProgressBar::new(searches);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Progress { bar, ended: AtomicU64::new(0), as_lines: !std::io::stderr().is_terminal() }
    }

    /// One more has ended.
    pub fn ended(&self) {
        self.bar.inc(1);
        // Its own count, as others end meanwhile: each number is told once.
        let (ended, all) = (self.ended.fetch_add(1, Ordering::Relaxed) + 1, self.bar.length().unwrap_or(1));
        if self.as_lines && ended.is_multiple_of(all.div_ceil(LINES)) {
            errln!("{ended} of {all} searches");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
