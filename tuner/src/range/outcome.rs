//! What the choice for a range came to.

use std::fmt::Write;

use autokernel_codegen::config::Entry;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Ms, Span};
use serde::Serialize;

use super::args::By;
use crate::target::Target;

/// A range of sizes of one problem, and the schedule that was chosen for it.
#[derive(Clone, Debug, Serialize)]
pub struct RangeOutcome {
    /// The problem at the last size.
    pub target: Target,
    /// The sizes.
    pub range: Span,
    /// What it was chosen by.
    pub by: By,
    /// The schedule.
    pub schedule: Schedule,
    /// How it fared at each size that was searched.
    pub sizes: Vec<OfSize>,
    /// Whether it becomes an entry.
    pub promoted: bool,
    /// Why, or why not.
    pub reason: String,
    /// The entry.
    #[serde(skip)]
    pub entry: Option<Entry>,
}

/// A size that was searched.
#[derive(Clone, Debug, Serialize)]
pub struct OfSize {
    /// The size.
    pub size: u32,
    /// The time of the schedule, in milliseconds.
    pub median_ms: f64,
    /// Over the fastest that met there.
    pub over_fastest: f64,
    /// What a launch takes there today over the fastest; none where it has no time.
    pub in_use_over_fastest: Option<f64>,
}

impl RangeOutcome {
    /// For people, a block.
    pub fn summary(&self) -> String {
        let Target { problem, arch, shape } = &self.target;
        // Strings take any text, so these writes cannot fail.
        let mut text = String::new();
        let _ = writeln!(text, "{} of {shape} · {problem} · {arch}", self.range);
        let _ = writeln!(text, "  {:<12} {}", "chosen", self.schedule);
        for OfSize { size, median_ms, over_fastest, in_use_over_fastest } in &self.sizes {
            let in_use = in_use_over_fastest.map_or("has no time".to_owned(), |ratio| format!("{ratio:.3}"));
            let label = format!("{} = {size}", self.range.dim);
            let _ = writeln!(
                text,
                "  {label:<12} {}, {over_fastest:.3} of the fastest; what is in use {in_use}",
                Ms(*median_ms)
            );
        }
        let _ = writeln!(text, "  {:<12} {}", "verdict", self.reason);
        text
    }
}
