//! What speaks against an entry.

use std::fmt;

use autokernel_codegen::config::{Config, Entry};
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use serde::Serialize;

use super::here::Here;
use crate::environment::kernel_sources;
use crate::outcome::Measurement;
use crate::replay::{Library, RecordedShape};

/// Whether the CUDA files are those that the entry was measured with. That they have changed is no finding: the entry is built and
/// checked as before, and whether another schedule wins now, a measurement alone can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sources {
    /// They are.
    Current,
    /// They have changed since.
    Changed,
    /// The entry does not say.
    Unknown,
}

impl Sources {
    /// Of an entry, in this build.
    pub fn of(entry: &Entry) -> Self {
        match entry.provenance.sources.as_deref() {
            Some(hash) if hash == kernel_sources(&entry.problem) => Sources::Current,
            Some(_) => Sources::Changed,
            None => Sources::Unknown,
        }
    }
}

impl fmt::Display for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Sources::Current => "current",
            Sources::Changed => "changed",
            Sources::Unknown => "unknown",
        })
    }
}

/// Why an entry should be tuned again.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// nvcc here has another major version.
    OtherNvcc {
        /// The version it was measured with.
        measured: String,
        /// The version here.
        here: String,
    },
    /// The schedule of another entry is faster at this shape, by the recorded times.
    SlowerThanBorrowed {
        /// The shape of the other entry.
        from: Extents,
        /// The problem class of the other entry.
        class: Box<ProblemClass>,
        /// Time that the other schedule saves, in percent.
        gain_pct: f64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::OtherNvcc { measured, here } => write!(f, "measured with nvcc {measured}, here is {here}"),
            Finding::SlowerThanBorrowed { from, class, gain_pct } => {
                write!(f, "the schedule of {} at {from} takes {gain_pct:.1} % less by the recorded times", class.slug())
            }
        }
    }
}

/// What speaks against `entry`.
pub fn findings(entry: &Entry, config: &Config, library: &Library, here: &Here) -> Vec<Finding> {
    let mut findings = Vec::new();
    let measured = &entry.provenance.nvcc;
    if let Some(here) = here.nvcc.as_ref().filter(|here| major(here) != major(measured)) {
        findings.push(Finding::OtherNvcc { measured: measured.clone(), here: here.clone() });
    }
    findings.extend(slower_than_borrowed(entry, config, library));
    findings
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}

/// The fastest schedule of another entry, if it is faster at this entry's shape by more than both spreads. Recorded
/// times do not outweigh a final under load on the same kind of GPU.
fn slower_than_borrowed(entry: &Entry, config: &Config, library: &Library) -> Option<Finding> {
    if entry.provenance.final_rounds > 0 {
        return None;
    }
    let table = recorded(entry, library)?;
    let own = time(table, &entry.schedule)?;
    let others = config.entries.iter().filter(|other| other.arch == entry.arch && other.schedule != entry.schedule);
    let timed = others.filter_map(|other| Some((other, time(table, &other.schedule)?)));
    let (other, fastest) = timed.min_by(|(_, a), (_, b)| a.median_ms.total_cmp(&b.median_ms))?;
    let gain_pct = 100.0 * (1.0 - fastest.median_ms / own.median_ms);
    let class = Box::new(other.problem.clone());
    let noise = own.spread_pct.max(fastest.spread_pct).max(UNPAIRED_FLOOR_PCT);
    (gain_pct > noise).then_some(Finding::SlowerThanBorrowed { from: other.extents, class, gain_pct })
}

/// Times of one recording that were not taken in turn differ by about this much without a reason.
const UNPAIRED_FLOOR_PCT: f64 = 0.5;

/// The recorded times at the entry's own target and GPU.
fn recorded<'l>(entry: &Entry, library: &'l Library) -> Option<&'l RecordedShape> {
    let recordings = library.recordings.iter().map(|(_, recording)| recording);
    let mut same = recordings.filter(|recording| {
        (recording.problem.class(), recording.arch, &recording.environment.gpu)
            == (entry.problem.clone(), entry.arch, &entry.provenance.gpu)
    });
    same.find_map(|recording| recording.shapes.iter().find(|table| table.shape == entry.extents))
}

fn time(table: &RecordedShape, schedule: &Schedule) -> Option<Measurement> {
    let (_, outcome) = table.rows.iter().find(|(other, _)| other == schedule)?;
    outcome.measurement().copied()
}
