//! The entries, and what is missing between them.

use std::collections::BTreeSet;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::{Config, Entry, Provenance};
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Extents, Span};
use jiff::civil::Date;
use serde::Serialize;

use super::finding::{Finding, Sources, findings};
use super::here::Here;
use crate::filter::Filter;
use crate::replay::Library;

/// A tuned entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What was tuned.
    pub problem: ProblemClass,
    /// For which target.
    pub arch: Arch,
    /// At which shape.
    pub shape: Extents,
    /// The sizes of one of its dimensions that it serves too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Span>,
    /// The winner.
    pub schedule: Schedule,
    /// Where the choice comes from.
    pub provenance: Provenance,
    /// Days since it was measured; none if its date is no date.
    pub age_days: Option<i32>,
    /// Whether the CUDA files are still those it was measured with.
    pub sources: Sources,
    /// Whether it should be tuned again: something speaks against it.
    pub stale: bool,
    /// What speaks against it.
    pub findings: Vec<Finding>,
}

/// A shape at which a class has no entry, though another class has, or it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Missing {
    /// The class.
    pub problem: ProblemClass,
    /// For which target.
    pub arch: Arch,
    /// The shape.
    pub shape: Extents,
}

/// What `tuner show` lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listing {
    /// The version of this document.
    pub version: u32,
    /// The entries that pass the filter, by class, arch and shape.
    pub entries: Vec<Row>,
    /// What is not tuned.
    pub missing: Vec<Missing>,
}

impl Listing {
    /// The entries of `config` that pass `filter`.
    pub fn new(config: &Config, library: &Library, filter: &Filter, here: &Here) -> Self {
        let taken = config.entries.iter().filter(|entry| filter.takes_entry(entry));
        let mut entries: Vec<Row> = taken.map(|entry| row(entry, config, library, here)).collect();
        entries.sort_by(|a, b| (&a.problem, a.arch, a.shape).cmp(&(&b.problem, b.arch, b.shape)));
        Listing { version: 1, entries, missing: missing(config, library, filter) }
    }

    /// The listing as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a listing has only string keys")
    }
}

fn row(entry: &Entry, config: &Config, library: &Library, here: &Here) -> Row {
    let (findings, sources) = (findings(entry, config, library, here), Sources::of(entry));
    let Entry { problem, arch, extents: shape, range, schedule, provenance } = entry.clone();
    let age_days = age_days(&provenance.date, &here.today);
    Row { problem, arch, shape, range, schedule, provenance, age_days, sources, stale: !findings.is_empty(), findings }
}

fn age_days(date: &str, today: &str) -> Option<i32> {
    let (date, today): (Date, Date) = (date.parse().ok()?, today.parse().ok()?);
    Some((today - date).get_days())
}

/// For every class and arch with an entry or a recording: the shapes that any of them has, less its own.
fn missing(config: &Config, library: &Library, filter: &Filter) -> Vec<Missing> {
    let tuned = config.entries.iter().map(|entry| (entry.problem.clone(), entry.arch, entry.extents));
    let tuned: BTreeSet<_> = tuned.collect();
    let mut known = tuned.clone();
    for (_, recording) in &library.recordings {
        let class = recording.problem.class();
        known.extend(recording.shapes.iter().map(|table| (class.clone(), recording.arch, table.shape)));
    }
    let classes: BTreeSet<_> = known.iter().map(|(class, arch, _)| (class.clone(), *arch)).collect();
    let mut missing = Vec::new();
    for (problem, arch) in classes {
        let shapes: BTreeSet<Extents> =
            known.iter().filter(|(_, other, _)| *other == arch).map(|(_, _, shape)| *shape).collect();
        let untuned = shapes.into_iter().filter(|shape| !tuned.contains(&(problem.clone(), arch, *shape)));
        missing.extend(untuned.map(|shape| Missing { problem: problem.clone(), arch, shape }));
    }
    let is_in_a_range = |Missing { problem, arch, shape }: &Missing| {
        let mut own = config.entries.iter().filter(|entry| (&entry.problem, entry.arch) == (problem, *arch));
        own.any(|entry| entry.range.is_some_and(|range| range.holds(&entry.extents, shape)))
    };
    missing.retain(|it| filter.takes_class(&it.problem, it.arch, it.shape) && !is_in_a_range(it));
    missing
}
