//! `best_config.json`: the schedules that were measured fastest, with where each number comes from.

mod portfolio;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) use self::portfolio::AS_PREDICTED;
pub use self::portfolio::{Operation as PortfolioOperation, Portfolio, PortfolioImage, PortfolioProvenance};
pub use autokernel_core::Provenance;
use autokernel_core::{Arch, Extents, Span, Tuned};
use serde::{Deserialize, Deserializer, Serialize};

use crate::files;
use crate::problem::{Problem, ProblemClass};
use crate::schedule::Schedule;

/// The version of the file's schema that this crate writes. It reads version 1 too, which says `shape` for `extents`.
pub const VERSION: u32 = 2;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where editors find the JSON schema.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The schema's version: 2.
    #[serde(deserialize_with = "supported_version")]
    pub version: u32,
    /// The archs that kernels are compiled for. `AUTOKERNEL_ARCHS` overrides it.
    #[serde(deserialize_with = "some_archs")]
    pub archs: Vec<Arch>,
    /// The tuned entries.
    #[serde(default)]
    pub entries: Vec<Entry>,
    /// The images that serve shapes nobody tuned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub portfolios: Vec<Portfolio>,
}

/// A tuned entry: class + arch + GPU + extents → schedule. The GPU is part of its provenance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, try_from = "UncheckedEntry")]
pub struct Entry {
    /// What was tuned.
    pub problem: ProblemClass,
    /// For which target.
    pub arch: Arch,
    /// At which extents.
    pub extents: Extents,
    /// The sizes of one of their dimensions that it serves, where those are more than one: it was chosen for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Span>,
    /// The winner.
    pub schedule: Schedule,
    /// Where the choice comes from.
    pub provenance: Provenance,
}

impl Entry {
    /// What its schedule was tuned for.
    pub fn tuned(&self) -> Tuned {
        let Entry { problem, extents, range, provenance, .. } = self;
        Tuned { class: problem.to_string(), extents: *extents, range: *range, provenance: provenance.clone() }
    }
}

/// An entry as written, before its schedule met the rules.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Entry"))]
#[serde(deny_unknown_fields)]
struct UncheckedEntry {
    problem: ProblemClass,
    arch: Arch,
    #[serde(alias = "shape")]
    extents: Extents,
    #[serde(default)]
    range: Option<Span>,
    schedule: Schedule,
    provenance: Provenance,
}

impl TryFrom<UncheckedEntry> for Entry {
    type Error = String;

    fn try_from(entry: UncheckedEntry) -> Result<Self, String> {
        let UncheckedEntry { problem, arch, extents, range, schedule, provenance } = entry;
        let refused = |reason: String| format!("the entry that ends here ({problem}, {arch}, {extents}) {reason}");
        problem.check(&schedule, arch).map_err(|broken| refused(format!("cannot be built: {broken}")))?;
        let extents = problem.ordered(&extents).map_err(|other| refused(format!("is of other dimensions: {other}")))?;
        if extents.sizes().any(|size| size == 0) {
            return Err(refused("was not measured: where a size is 0 no kernel runs".to_owned()));
        }
        if let Some(range) = range.filter(|range| !range.is_of(&extents)) {
            return Err(refused(format!("serves {range}, and its own extents have no such size")));
        }
        provenance.check().map_err(|implausible| refused(format!("was not measured: {implausible}")))?;
        Ok(Entry { problem, arch, extents, range, schedule, provenance })
    }
}

fn supported_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let version = u32::deserialize(deserializer)?;
    if (1..=VERSION).contains(&version) {
        return Ok(VERSION);
    }
    Err(serde::de::Error::custom(format!(
        "version {version} is not supported; this autokernel reads versions 1 to {VERSION}, so update autokernel or run the tuner again"
    )))
}

fn some_archs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arch>, D::Error> {
    let archs = Vec::<Arch>::deserialize(deserializer)?;
    if archs.is_empty() {
        return Err(serde::de::Error::custom(
            "archs names no GPU to compile for; write some, as in [\"sm_80\", \"sm_90a\"]",
        ));
    }
    Ok(archs)
}

/// A config file that could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read or written.
    #[error("{}; {}", self.found(), self.remedy())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a valid config.
    #[error("{}; {}", self.found(), self.remedy())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
}

impl ConfigError {
    /// What is wrong, and where.
    pub fn found(&self) -> String {
        match self {
            ConfigError::Io { path, source } => format!("{}: {source}", path.display()),
            ConfigError::Invalid { path, line, column, reason } => {
                format!("{}:{line}:{column}: {reason}", path.display())
            }
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            ConfigError::Io { source, .. } => match source.kind() {
                ErrorKind::IsADirectory => {
                    "a folder stands in the place of the file; move it away, or name another file"
                }
                ErrorKind::PermissionDenied => "let this user read the file",
                ErrorKind::InvalidData => "restore the file from version control",
                _ => "restore the file or run `cargo run --release -p tuner -- --write` to make one",
            },
            ConfigError::Invalid { .. } => "correct the line, or restore the file from version control",
        }
    }
}

impl Default for Config {
    /// No entry: every kernel uses its arch's default schedule.
    fn default() -> Self {
        Config {
            schema: None,
            version: VERSION,
            archs: vec![Arch::SM_80, Arch::SM_90A],
            entries: Vec::new(),
            portfolios: Vec::new(),
        }
    }
}

impl Config {
    /// The portfolio that serves `problem` on `arch`.
    pub fn portfolio_for(&self, problem: &Problem, arch: Arch) -> Option<&Portfolio> {
        self.portfolios.iter().find(|portfolio| portfolio.serves(problem, arch))
    }

    /// What a kernel of `problem` carries on `arch` for shapes that nobody tuned, each schedule with its measured over its predicted
    /// time: the images of the portfolio that serves it with those that stand beside one, or else those that its operation brings. Tuned entries,
    /// of this class or another, are no reason to do without.
    pub fn images_for(&self, problem: &Problem, arch: Arch) -> Vec<(Schedule, f64)> {
        let class = problem.class();
        let shipped = self.portfolio_for(problem, arch).map(|portfolio| {
            portfolio.images_for(&class).map(|image| (image.schedule, image.measured_over_predicted)).collect()
        });
        let brought = if shipped.is_some() { class.beside_portfolio(arch) } else { class.portfolio(arch) };
        let mut images: Vec<(Schedule, f64)> = shipped.unwrap_or_default();
        for schedule in brought {
            if images.iter().all(|(image, _)| image.image() != schedule.image()) {
                images.push((schedule, AS_PREDICTED));
            }
        }
        images
    }

    /// The GPUs on which the images that a kernel of `problem` carries on `arch` for shapes that nobody tuned, and the model that chooses
    /// among them, were measured: those of the portfolio that serves it, or else of the one that its operation brings. None: estimates.
    pub fn measured_on(&self, problem: &Problem, arch: Arch) -> Vec<String> {
        match self.portfolio_for(problem, arch) {
            Some(portfolio) => portfolio.provenance.gpus.clone(),
            None => problem.class().measured_on(arch).iter().map(|gpu| (*gpu).to_owned()).collect(),
        }
    }

    /// Puts `portfolio` in the place of the one of its kind, or adds it.
    pub fn put_portfolio(&mut self, portfolio: Portfolio) {
        self.portfolios.retain(|old| old.kind() != portfolio.kind());
        self.portfolios.push(portfolio);
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is not JSON, has an unknown field or another version, or holds a schedule that breaks
    /// a rule; the message has file, line and reason.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Io { path: path.to_owned(), source })?;
        Config::parse(&text, path)
    }

    /// Reads `text`, naming it `path` in errors.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        serde_json::from_str(text).map_err(|error| ConfigError::Invalid {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            reason: without_position(&error),
        })
    }

    /// The file's text: indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a config has only string keys");
        text.push('\n');
        text
    }

    /// Replaces the file at `path` in one step: a reader sees the old file or the new one, never half of one.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ConfigError> {
        let replaced = files::replace(path, self.to_json().as_bytes());
        replaced.map_err(|source| ConfigError::Io { path: path.to_owned(), source })
    }

    /// The entries that serve `problem` on `arch`: those of its class, or else those of the nearest class
    /// ([`ProblemClass::distance`]) whose schedules are valid for it.
    pub fn entries_for(&self, problem: &Problem, arch: Arch) -> Vec<&Entry> {
        let class = problem.class();
        let usable =
            self.entries.iter().filter(|entry| entry.arch == arch && class.check(&entry.schedule, arch).is_ok());
        let ranked: Vec<(u32, &Entry)> =
            usable.filter_map(|entry| Some((class.distance(&entry.problem)?, entry))).collect();
        let nearest = ranked.iter().map(|(distance, _)| *distance).min();
        ranked.into_iter().filter(|(distance, _)| Some(*distance) == nearest).map(|(_, entry)| entry).collect()
    }

    /// Puts `entry` in the place of the one with the same class, arch, GPU, extents and range, or adds it. Returns the one
    /// replaced.
    pub fn upsert(&mut self, entry: Entry) -> Option<Entry> {
        let same = |old: &Entry| {
            (&old.problem, old.arch, &old.provenance.gpu, old.extents, old.range)
                == (&entry.problem, entry.arch, &entry.provenance.gpu, entry.extents, entry.range)
        };
        match self.entries.iter_mut().find(|old| same(old)) {
            Some(old) => Some(std::mem::replace(old, entry)),
            None => {
                self.entries.push(entry);
                None
            }
        }
    }

    /// These entries before `fallback`'s: an entry of `fallback` stays only where this file has none for its class and
    /// arch, a portfolio only where this file has none of its kind.
    pub fn or(mut self, fallback: Config) -> Config {
        let covered: Vec<_> = self.entries.iter().map(|entry| (entry.problem.clone(), entry.arch)).collect();
        let missing =
            fallback.entries.into_iter().filter(|entry| !covered.contains(&(entry.problem.clone(), entry.arch)));
        self.entries.extend(missing);
        let kinds: Vec<_> = self.portfolios.iter().map(Portfolio::kind).collect();
        self.portfolios.extend(fallback.portfolios.into_iter().filter(|portfolio| !kinds.contains(&portfolio.kind())));
        self
    }
}

/// The error's text without the position that serde_json appends.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).map_or(text.clone(), str::to_owned)
}

/// The JSON schema of the file, for editors.
#[cfg(feature = "schema")]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}

#[cfg(test)]
mod tests;
