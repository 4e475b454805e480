//! The last thing a run says.

use std::collections::BTreeMap;
use std::fmt::Write;

use autokernel_core::Ms;

use super::result::TargetResult;
use crate::numbers;
use crate::outcome::Outcome;
use crate::trial::Trial;

/// What was tuned, how it went, and how it compares, a block a target.
pub fn summary(results: &[TargetResult]) -> String {
    results.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(result: &TargetResult) -> String {
    let target = &result.search.target;
    let mut text = String::new();
    // Strings take any text, so these writes cannot fail.
    let _ = writeln!(text, "{} · {} · {}", target.shape, target.problem, target.arch);
    let mut line = |label: &str, words: String| {
        let _ = writeln!(text, "  {label:<12} {words}");
    };
    let environment = &result.environment;
    line("GPU", format!("{}, driver {}, nvcc {}", environment.gpu, environment.driver, environment.nvcc));
    line("times", result.origin.clone());
    if numbers::has_groups(&target.problem) {
        line("groups", environment.group_sizes.to_string());
    }
    line("search", search_words(result));
    line("generations", generations(result));
    if let Some(ms) = result.best_ms() {
        line("best", best(result, ms));
        line("", best_schedule(result));
        if let Some(words) = at_random(result) {
            line("random", words);
        }
        line("compared", comparisons(result, ms));
        if let Some(words) = left_out(result) {
            line("left out", words);
        }
        if let Some(words) = energy(result) {
            line("energy", words);
        }
    }
    let failures = failures(result);
    if !failures.is_empty() {
        line("failures", failures);
    }
    line("verdict", verdict(result));
    text
}

fn search_words(result: &TargetResult) -> String {
    let search = &result.search;
    let answered = search.trials.len() - search.evaluated.min(search.trials.len());
    let known = if answered > 0 { format!(", {answered} of them known before") } else { String::new() };
    format!("{}: {} schedules tried{known}; {}", result.strategy, search.trials.len(), search.stopped)
}

/// Generations whose best is told one by one.
const MOST_GENERATIONS: usize = 10;

fn generations(result: &TargetResult) -> String {
    let best = result.search.best_by_generation();
    let times: Vec<String> = best.iter().filter_map(|(_, trial)| cost(trial)).collect();
    // A line on a terminal: of many generations, every so many and the last.
    let step = times.len().div_ceil(MOST_GENERATIONS).max(1);
    if step > 1 {
        let last = times.len() - 1;
        let is_told = |at: usize| (at + 1).is_multiple_of(step) || at == last;
        let some: Vec<&str> = (0..=last).filter(|&at| is_told(at)).map(|at| times[at].as_str()).collect();
        return format!("best after every {step} of {}: {}", times.len(), some.join(", "));
    }
    if times.is_empty() { "none with a time".to_owned() } else { format!("best after each: {}", times.join(", ")) }
}

/// What the search made small, of a trial.
fn cost(trial: &Trial) -> Option<String> {
    let measurement = trial.outcome.measurement()?;
    Some(measurement.energy_mj.map_or_else(|| Ms(measurement.median_ms).to_string(), |mj| format!("{mj:.3} mJ")))
}

fn best(result: &TargetResult, ms: f64) -> String {
    let target = &result.search.target;
    let mut words = format!("{}, {:.1} TFLOP/s", Ms(ms), target.tflops(ms));
    if let Some(roof) = result.roofline() {
        let _ = write!(words, ", {:.1} % of the roofline", roof.percent(&target.work(), ms));
    }
    if let Some((_, optimum)) = &result.optimum {
        let share = 100.0 * optimum.median_ms / ms;
        let _ = write!(words, ", {share:.1} % of the recorded optimum ({})", Ms(optimum.median_ms));
    }
    words
}

/// What a launch takes of it, where the search made that small.
fn energy(result: &TargetResult) -> Option<String> {
    let of_trial = || result.search.best()?.outcome.measurement()?.energy_mj;
    let in_final = result.promotion.as_ref().and_then(|promotion| promotion.winner.as_ref());
    let best = in_final.and_then(|(_, time)| time.measurement.energy_mj).or_else(of_trial)?;
    let in_use = result.promotion.as_ref().and_then(|promotion| promotion.incumbent_time.as_ref().ok());
    let in_use = in_use.and_then(|time| time.measurement.energy_mj);
    let in_use = in_use.map_or(String::new(), |mj| format!("; what is in use takes {mj:.3} mJ"));
    Some(format!("{best:.3} mJ a launch, of the whole board{in_use}"))
}

/// What --fix and --exclude cost, as far as the journal knows.
fn left_out(result: &TargetResult) -> Option<String> {
    let (left_out, best) = (result.search.left_out.as_ref()?, result.search.best()?);
    let is_better = left_out.cost()? < best.cost()?;
    let schedule = left_out.schedule;
    is_better.then_some(format!("{}: {schedule}, which --fix or --exclude does not let win", cost(left_out)?))
}

/// What chance alone would have found, to judge the search by.
fn at_random(result: &TargetResult) -> Option<String> {
    let (ms, (_, optimum)) = (result.best_at_random_ms?, result.optimum.as_ref()?);
    let (share, draws) = (100.0 * optimum.median_ms / ms, result.search.trials.len());
    Some(format!("{}, {share:.1} % of the recorded optimum: the median of the best of {draws} random draws", Ms(ms)))
}

fn best_schedule(result: &TargetResult) -> String {
    let in_final = result.promotion.as_ref().and_then(|promotion| promotion.winner.as_ref()).map(|(trial, _)| trial);
    let trial = in_final.or_else(|| result.search.best());
    let search = |trial: &Trial| {
        let own = result.search.trials.iter().any(|own| own.schedule == trial.schedule);
        if own { "" } else { ", in another search" }
    };
    let words = |trial: &Trial| format!("{} (proposed by {}{})", trial.schedule, trial.proposed_by, search(trial));
    trial.map_or(String::new(), words)
}

fn comparisons(result: &TargetResult, ms: f64) -> String {
    let mut times = vec![("the default", result.default_ms())];
    // Nothing else was asked for its time before the final.
    if result.promotion.is_some() {
        times.push(("what is in use", result.incumbent_ms()));
        let opponent = result.search.target.problem.opponent().map(|_| ("cuBLAS + epilogue", result.cublas_ms()));
        times.extend(opponent);
    }
    let words: Vec<String> = times
        .into_iter()
        .map(|(name, time)| match time {
            Some(time) => format!("{:.2} × {name} ({})", time / ms, Ms(time)),
            None => format!("{name} has no time"),
        })
        .collect();
    words.join(", ")
}

fn failures(result: &TargetResult) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for trial in &result.search.trials {
        if let Outcome::Failed(failure) = &trial.outcome {
            *kinds.entry(failure.kind()).or_default() += 1;
        }
    }
    kinds.iter().map(|(kind, count)| format!("{count} × {kind}")).collect::<Vec<_>>().join(", ")
}

fn verdict(result: &TargetResult) -> String {
    match &result.promotion {
        None if result.is_of_a_range => {
            "no final of its own: its schedules meet with those of the other sizes".to_owned()
        }
        None => "not promoted: stopped before the final".to_owned(),
        Some(promotion) if promotion.verdict.promoted => {
            let what = if promotion.incumbent.is_exact() { "replaces its entry" } else { "becomes a new entry" };
            format!("promoted, {what}: {}", promotion.verdict.reason)
        }
        Some(promotion) => format!("not promoted: {}", promotion.verdict.reason),
    }
}
