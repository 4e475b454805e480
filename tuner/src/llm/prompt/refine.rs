//! The prompt of every later round: what was measured, what failed and why, what is left.

use std::fmt::Write;

use autokernel_core::Ms;

use super::outcome::{difference, words};
use super::text::{ask, json};
use crate::known::Known;
use crate::llm::feedback::{Became, Feedback, Tried};
use crate::llm::reply::Rejected;

/// Most of the fastest trials that are listed.
const TOP: usize = 12;
/// Most other trials that are listed, in few words; what failed comes first.
const OTHERS: usize = 100;
/// Most proposals that are listed as rejected.
const REJECTED: usize = 12;

/// The news of a round.
pub fn refine(feedback: &Feedback) -> String {
    let best = feedback.top.first();
    let mut text = String::new();
    match best {
        Some(tried) => {
            let _ = writeln!(text, "# Best so far\n{}\n{}\n", json(&tried.schedule), words(&tried.became, None));
        }
        None => text.push_str("# Best so far\nNothing has been measured successfully yet.\n\n"),
    }
    if feedback.top.len() > 1 {
        let _ =
            writeln!(text, "# Next fastest, as differences from the best\n{}\n", trials(&feedback.top[1..], best, TOP));
    }
    if !feedback.anchors.is_empty() {
        let _ = writeln!(text, "# What was known good, here\n{}\n", anchors(&feedback.anchors, best_ms(best)));
    }
    if !feedback.proposed.is_empty() {
        let title = "# Your last proposals, as differences from the best";
        let _ = writeln!(text, "{title}\n{}\n", trials(&feedback.proposed, best, usize::MAX));
    }
    if !feedback.others.is_empty() {
        let _ = writeln!(text, "# Also tried, as differences from the best\n{}\n", others(&feedback.others, best));
    }
    if !feedback.rejected.is_empty() {
        let _ = writeln!(text, "# Proposals that were not tried\n{}\n", rejected(&feedback.rejected));
    }
    let _ = write!(
        text,
        "# Budget\n{} Do not repeat a schedule listed here. Refine what works, drop what failed and why, and test the \
         explanation that the figures suggest. Same JSON as before.",
        ask(&feedback.left)
    );
    text
}

fn trials(trials: &[Tried], best: Option<&Tried>, most: usize) -> String {
    let best_ms = best_ms(best);
    let line = |tried: &Tried| {
        format!("- {}: {}", difference(&tried.schedule, best.map(|best| &best.schedule)), words(&tried.became, best_ms))
    };
    listed(trials, most, line)
}

/// Trials by schedule and time alone.
fn others(others: &[Tried], best: Option<&Tried>) -> String {
    let line = |tried: &Tried| {
        let became = match &tried.became {
            Ok(figures) => Ms(figures.measurement.median_ms).to_string(),
            failed => words(failed, None),
        };
        format!("- {}: {became}", difference(&tried.schedule, best.map(|best| &best.schedule)))
    };
    listed(others, OTHERS, line)
}

fn best_ms(best: Option<&Tried>) -> Option<f64> {
    best.and_then(|tried| tried.became.as_ref().ok()).map(|figures| figures.measurement.median_ms)
}

fn anchors(anchors: &[(Known, Option<Became>)], best_ms: Option<f64>) -> String {
    let line = |(Known { schedule, origin }, became): &(Known, Option<Became>)| {
        let became = became.as_ref().map_or("not tried yet".to_owned(), |became| words(became, best_ms));
        format!("- {} ({origin}): {became}", json(schedule))
    };
    listed(anchors, usize::MAX, line)
}

/// The rejected proposals, a line each.
pub fn rejected(rejected: &[Rejected]) -> String {
    listed(rejected, REJECTED, |Rejected { text, reason }| format!("- {text}: {reason}"))
}

/// A line for each of `items`, up to so many, and how many there are beyond.
fn listed<T>(items: &[T], most: usize, line: impl Fn(&T) -> String) -> String {
    let mut lines: Vec<String> = items.iter().take(most).map(line).collect();
    if items.len() > most {
        lines.push(format!("- and {} more", items.len() - most));
    }
    lines.join("\n")
}
