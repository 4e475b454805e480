//! What a person sees while a search runs: a bar on a terminal, plain lines elsewhere. All of it on standard error.

use std::cell::RefCell;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::Search;
use crate::target::Target;
use crate::trial::Trial;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Bar,
    Lines,
    Silent,
}

/// Shows how a search goes.
#[derive(Debug)]
pub struct Progress {
    style: Style,
    bar: RefCell<ProgressBar>,
    best_ms: RefCell<Option<f64>>,
}

const TEMPLATE: &str = "{prefix} {bar:30.cyan/dim} {pos}/{len} {msg} [{elapsed} < {eta}]";

impl Progress {
    /// For standard error as it is.
    pub fn new() -> Self {
        Progress::with(if std::io::stderr().is_terminal() { Style::Bar } else { Style::Lines })
    }

    /// Says nothing.
    pub fn silent() -> Self {
        Progress::with(Style::Silent)
    }

    fn with(style: Style) -> Self {
        Progress { style, bar: RefCell::new(ProgressBar::hidden()), best_ms: RefCell::new(None) }
    }

    pub(super) fn begin(&self, target: &Target, evaluations: usize, known: &[Trial]) {
        self.best_ms.replace(None);
        let prefix = format!("{} {}", target.problem.class().slug(), target.shape);
        if self.style == Style::Bar {
            let bar = ProgressBar::new(evaluations as u64).with_prefix(prefix);
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style);
            }
            self.bar.replace(bar);
        } else if self.style == Style::Lines {
            eprintln!("{prefix}: {evaluations} evaluations");
        }
        known.iter().for_each(|trial| self.tried(trial));
    }

    pub(super) fn tried(&self, trial: &Trial) {
        let mut best = self.best_ms.borrow_mut();
        if let Some(ms) = trial.median_ms().filter(|&ms| best.is_none_or(|best| ms < best)) {
            *best = Some(ms);
        }
        let bar = self.bar.borrow();
        if let Some(best) = *best {
            bar.set_message(format!("best {best:.4} ms"));
        }
        bar.inc(1);
    }

    pub(super) fn generation(&self, generation: u32, search: &Search) {
        if let (Style::Lines, Some(best)) = (self.style, search.best()) {
            let ms = best.median_ms().unwrap_or_default();
            eprintln!("  generation {generation}: {} tried, best {ms:.4} ms, {}", search.trials.len(), best.schedule);
        }
    }

    pub(super) fn note(&self, text: &str) {
        match self.style {
            Style::Bar => self.bar.borrow().println(format!("  {text}")),
            Style::Lines => eprintln!("  {text}"),
            Style::Silent => {}
        }
    }

    pub(super) fn end(&self, search: &Search) {
        self.bar.borrow().finish_and_clear();
        if self.style == Style::Lines {
            eprintln!("  ended after {} trials: {}", search.trials.len(), search.stopped);
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Progress::new()
    }
}
