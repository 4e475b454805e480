//! From the journal to the formats of other tuners.

use std::path::{Path, PathBuf};

use autokernel_codegen::files;
use serde::Serialize;
use serde_json::{Map, Value};

use super::cache_file::CacheFile;
use super::error::ExchangeError;
use super::format::Format;
use super::t4::{Metadata, MetadataEnvironment, MetadataFile, Provenance, Results, Row, SCHEMA_VERSION, metadata_path};
use crate::environment::{Environment, day};
use crate::gpu_facts::GpuFacts;
use crate::outcome::{Failure, Outcome};
use crate::replay::Method;
use crate::target::Target;
use crate::trial::Trial;

/// A results file that was written, its metadata beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The results.
    pub results: PathBuf,
    /// Rows in it.
    pub rows: usize,
}

/// Writes the trials of each target and environment to `<folder>/<target>.t4.json`, with `….metadata.json` beside it, or to
/// `<folder>/<target>.cache.json`.
/// `facts` knows more of a GPU by its name.
///
/// # Errors
/// A file cannot be written.
pub fn export(
    trials: &[&Trial],
    format: Format,
    folder: &Path,
    facts: impl Fn(&str) -> Option<GpuFacts>,
) -> Result<Vec<Exported>, ExchangeError> {
    std::fs::create_dir_all(folder).map_err(|source| ExchangeError::Io { path: folder.to_owned(), source })?;
    let mut places: Vec<(&Target, &Environment)> = Vec::new();
    for trial in trials {
        if !places.contains(&(&*trial.target, &*trial.environment)) {
            places.push((&*trial.target, &*trial.environment));
        }
    }
    let mut written: Vec<Exported> = Vec::new();
    for (target, environment) in places {
        let of_place = |trial: &&&Trial| *trial.target == *target && *trial.environment == *environment;
        let rows: Vec<&Trial> = trials.iter().filter(of_place).copied().collect();
        let results =
            Results { schema_version: SCHEMA_VERSION.to_owned(), results: rows.iter().filter_map(row).collect() };
        let metadata = metadata(target, environment, facts(&environment.gpu), &rows);
        let taken = |path: &Path| written.iter().any(|exported| exported.results == path);
        let path = (1..).map(|number| folder.join(name(target, format, number))).find(|path| !taken(path));
        let path = path.unwrap_or_else(|| folder.join(name(target, format, 1)));
        match format {
            Format::T4 => {
                write(&path, &results)?;
                write(&metadata_path(&path), &metadata)?;
            }
            Format::Cache => write(&path, &CacheFile::of(&results.results, metadata.metadata.autokernel))?,
        }
        written.push(Exported { results: path, rows: results.results.len() });
    }
    Ok(written)
}

/// A target that was measured in several environments has a file for each.
fn name(target: &Target, format: Format, number: u32) -> String {
    let number = if number == 1 { String::new() } else { format!("_{number}") };
    let ending = match format {
        Format::T4 => "t4",
        Format::Cache => "cache",
    };
    format!("{}_{}{number}.{ending}.json", target.slug(), target.arch)
}

fn row(trial: &&Trial) -> Option<Row> {
    let known = trial.outcome != Outcome::Failed(Failure::NotRecorded);
    known.then(|| Row::new(Some(trial.at.clone()), &trial.schedule, &trial.outcome, trial.seconds))
}

fn metadata(target: &Target, environment: &Environment, gpu: Option<GpuFacts>, trials: &[&Trial]) -> MetadataFile {
    let query = gpu.as_ref().and_then(|gpu| serde_json::to_value(gpu).ok());
    let device_query = match query {
        Some(Value::Object(query)) => query,
        _ => Map::from_iter([("name".to_owned(), environment.gpu.clone().into())]),
    };
    let samples = trials.iter().filter_map(|trial| Some(trial.outcome.measurement()?.samples)).min().unwrap_or(0);
    let date = trials.iter().map(|trial| day(&trial.at).to_owned()).max();
    MetadataFile {
        schema_version: SCHEMA_VERSION.to_owned(),
        metadata: Metadata {
            environment: MetadataEnvironment {
                device_query,
                requirements: vec![format!("driver {}", environment.driver), format!("nvcc {}", environment.nvcc)],
            },
            autokernel: Provenance {
                target: target.clone(),
                environment: environment.clone(),
                gpu,
                method: Method {
                    data: "standard normal; B scaled by 1/sqrt(k)".to_owned(),
                    cache: "cold".to_owned(),
                    samples,
                    date: date.unwrap_or_default(),
                    command: "tuner export".to_owned(),
                    coverage: Some(format!("{} schedules that a search tried", trials.len())),
                },
            },
        },
    }
}

fn write(path: &Path, contents: &impl Serialize) -> Result<(), ExchangeError> {
    let io = |source| ExchangeError::Io { path: path.to_owned(), source };
    let mut text = serde_json::to_vec_pretty(contents).map_err(|error| io(error.into()))?;
    text.push(b'\n');
    files::replace(path, &text).map_err(io)
}
