//! What a person sees while a search runs: a bar on a terminal, plain lines elsewhere. All of it on standard error.

use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use autokernel_core::Ms;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::found::Search;
use crate::target::Target;
use crate::trial::Trial;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Bar,
    Lines,
}

/// Shows how a search goes.
#[derive(Debug)]
pub struct Progress {
    style: Style,
    bar: RefCell<ProgressBar>,
    /// The best so far: what a search makes small, and its time.
    best: RefCell<Option<(f64, f64)>>,
    pace: Cell<Pace>,
}

/// What the time that is left is estimated from.
#[derive(Clone, Copy, Debug)]
struct Pace {
    begun: Instant,
    /// Evaluations that may be spent in all, and those that an earlier run answered.
    evaluations: usize,
    known: usize,
}

impl Pace {
    /// How long the evaluations that are left take at the pace so far; none before the first.
    fn left(&self, tried: usize) -> Option<Duration> {
        let made = u32::try_from(tried.saturating_sub(self.known)).ok().filter(|&made| made > 0)?;
        let left = u32::try_from(self.evaluations.saturating_sub(tried)).ok()?;
        Some(self.begun.elapsed() / made * left)
    }
}

const TEMPLATE: &str = "{prefix} {bar:30.cyan/dim} {pos}/{len} {msg} [{elapsed}, {eta} left]";

impl Progress {
    /// For standard error as it is.
    pub fn new() -> Self {
        Progress::with(if std::io::stderr().is_terminal() { Style::Bar } else { Style::Lines })
    }

    fn with(style: Style) -> Self {
        let pace = Cell::new(Pace { begun: Instant::now(), evaluations: 0, known: 0 });
        Progress { style, bar: RefCell::new(ProgressBar::hidden()), best: RefCell::new(None), pace }
    }

    pub(super) fn begin(&self, target: &Target, evaluations: usize, known: &[Trial]) {
        self.best.replace(None);
        let prefix = format!("{} {}", target.problem.class().slug(), target.shape);
        if self.style == Style::Bar {
            let bar = ProgressBar::new(evaluations as u64).with_prefix(prefix);
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style);
            }
            self.bar.replace(bar);
        } else {
            errln!("{prefix}: {evaluations} evaluations");
        }
        known.iter().for_each(|trial| self.tried(trial));
        self.pace.set(Pace { begun: Instant::now(), evaluations, known: known.len() });
        // What the journal answered in no time says nothing of what is to come.
        self.bar.borrow().reset_eta();
    }

    pub(super) fn tried(&self, trial: &Trial) {
        let mut best = self.best.borrow_mut();
        let cost = trial.cost().filter(|&cost| best.is_none_or(|(best, _)| cost < best));
        if let Some(of_trial) = cost.zip(trial.median_ms()) {
            *best = Some(of_trial);
        }
        let bar = self.bar.borrow();
        if let Some((_, ms)) = *best {
            bar.set_message(format!("best {}", Ms(ms)));
        }
        bar.inc(1);
    }

    pub(super) fn generation(&self, generation: u32, search: &Search) {
        if let (Style::Lines, Some(best)) = (self.style, search.best()) {
            let (ms, tried, pace) = (best.median_ms().unwrap_or_default(), search.trials.len(), self.pace.get());
            let left = pace.left(tried).filter(|left| left.as_secs() > 0);
            let left = left.map_or(String::new(), |left| format!("; {} left", HumanDuration(left)));
            let of = pace.evaluations;
            errln!("  generation {generation}: {tried} of {of} tried, best {}, {}{left}", Ms(ms), best.schedule);
        }
    }

    pub(crate) fn note(&self, text: &str) {
        match self.style {
            Style::Bar => self.bar.borrow().println(format!("  {text}")),
            Style::Lines => errln!("  {text}"),
        }
    }

    pub(super) fn end(&self, search: &Search) {
        self.bar.borrow().finish_and_clear();
        errln!("  {}: ended after {} trials: {}", search.target.slug(), search.trials.len(), search.stopped);
    }
}

impl Default for Progress {
    fn default() -> Self {
        Progress::new()
    }
}
