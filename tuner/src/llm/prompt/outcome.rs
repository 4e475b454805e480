//! A trial's outcome in a line that says why.

use autokernel_codegen::schedule::Schedule;

use super::text::json;
use crate::knobs;
use crate::llm::error::shorten;
use crate::llm::feedback::{Measurement, Outcome, Resources};
use crate::occupancy::{Occupancy, Waves};

/// Most characters of a compiler's or a checker's text.
const DETAIL_CHARS: usize = 600;

/// `outcome` in words; times are also given against `best_ms`.
pub fn words(outcome: &Outcome, best_ms: Option<f64>) -> String {
    match outcome {
        Outcome::Measured(measurement) => measured(measurement, best_ms),
        Outcome::RuleBroken { rule, reason } => format!("not tried: breaks rule `{rule}`: {}", detail(reason)),
        Outcome::CompileFailed { text } => format!("did not compile: {}", detail(text)),
        Outcome::WrongResult { detail: text } => format!("wrong result: {}", detail(text)),
        Outcome::TimedOut { phase, limit_s } => format!("timed out: {phase} not finished after {limit_s} s"),
        Outcome::Crashed { detail: text } => format!("crashed: {}", detail(text)),
        Outcome::Unavailable { reason } => format!("not tried: {}", detail(reason)),
        Outcome::Duplicate { median_ms: Some(ms) } => format!("duplicate: already measured at {ms:.4} ms"),
        Outcome::Duplicate { median_ms: None } => "duplicate: already tried, and it failed".to_owned(),
    }
}

fn measured(measurement: &Measurement, best_ms: Option<f64>) -> String {
    let Measurement { median_ms, spread_pct, tflops, roofline_pct, times_cublas, resources, waves } = measurement;
    let mut text = format!("{median_ms:.4} ms ±{spread_pct:.1} %");
    if let Some(best) = best_ms.filter(|best| *best > 0.0 && best < median_ms) {
        text += &format!(" ({:+.1} % on the best)", (median_ms / best - 1.0) * 100.0);
    }
    text += &format!(", {tflops:.1} TFLOP/s, {roofline_pct:.1} % of the roofline");
    if let Some(times) = times_cublas {
        text += &format!(", {times:.3} x cuBLAS");
    }
    if let Some(resources) = resources {
        text += &taken(resources);
    }
    if let Some(waves) = waves {
        text += &format!(", {}", fall(waves));
    }
    text
}

/// How tiles fall on the SMs: `512 tiles in 3.88 waves, the last 88 % full`.
pub fn fall(waves: &Waves) -> String {
    let Waves { tiles, waves, tail_pct, .. } = waves;
    format!("{tiles} tiles in {waves:.2} waves, the last {tail_pct:.0} % full")
}

fn taken(resources: &Resources) -> String {
    let Resources { registers, shared_bytes, spill_bytes, occupancy } = resources;
    let mut text = registers.map_or_else(String::new, |registers| format!(", {registers} registers"));
    text += &format!(", {shared_bytes} bytes of shared memory");
    if *spill_bytes > 0 {
        text += &format!(", {spill_bytes} bytes spilled");
    }
    if let Some(Occupancy { blocks_per_sm, warps_per_sm, percent, limiter }) = occupancy {
        text += &format!(
            ", an SM holds {blocks_per_sm} blocks ({warps_per_sm} warps, {percent:.0} %), limited by {limiter}"
        );
    }
    text
}

/// `text` on few characters, its line breaks as ` | `.
fn detail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    shorten(&lines.join(" | "), DETAIL_CHARS)
}

/// How `schedule` differs from `base`: `stages 4 → 5, raster.group 8 → 16`; in full across families.
pub fn difference(schedule: &Schedule, base: Option<&Schedule>) -> String {
    let Some(base) = base.filter(|base| base.family() == schedule.family()) else {
        return json(schedule);
    };
    let pairs = knobs::of(base).into_iter().zip(knobs::of(schedule));
    let changed = pairs.filter(|((_, old), (_, new))| old != new);
    let changes: Vec<String> = changed.map(|((knob, old), (_, new))| format!("{knob} {old} → {new}")).collect();
    if changes.is_empty() { "the best itself".to_owned() } else { changes.join(", ") }
}
