//! From the formats of other tuners to a space that can be replayed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cache_file::CacheFile;
use super::error::ExchangeError;
use super::t4::{MetadataFile, Provenance, Results, metadata_path};
use crate::gpu_facts::GpuFacts;
use crate::replay::{RecordedShape, Recording};

/// The recording of results files with their metadata beside them, or of cache files: one problem on one GPU, a file for each shape. `facts`
/// knows more of a GPU by its name.
///
/// # Errors
/// A file cannot be read, is not in the format, holds what is no schedule of autokernel's, or does not belong to the others.
pub fn import(files: &[PathBuf], facts: impl Fn(&str) -> Option<GpuFacts>) -> Result<Recording, ExchangeError> {
    let mut recording: Option<Recording> = None;
    for path in files {
        let invalid = |reason: String| ExchangeError::Invalid { path: path.clone(), reason };
        let (results, Provenance { target, environment, gpu, method }) = contents(path, &invalid)?;
        let Some(gpu) = gpu.or_else(|| facts(&environment.gpu)) else {
            let reason = format!(
                "its metadata says no more of {} than its name; add the member `gpu` of `autokernel`, as a recording has it",
                environment.gpu
            );
            return Err(invalid(reason));
        };
        gpu.check().map_err(|error| invalid(error.to_string()))?;
        let shape = RecordedShape { shape: target.shape, rows: rows(&results, &invalid)?, cublas: None };
        match &mut recording {
            None => {
                let (problem, arch) = (target.problem, target.arch);
                recording = Some(Recording { problem, arch, environment, gpu, method, shapes: vec![shape] });
            }
            Some(first)
                if (&first.problem, first.arch, &first.environment) == (&target.problem, target.arch, &environment) =>
            {
                if first.shapes.iter().any(|known| known.shape == shape.shape) {
                    return Err(invalid(format!("{} was in a file before it; leave one of them out", shape.shape)));
                }
                first.shapes.push(shape);
            }
            Some(_) => {
                let reason =
                    "it is of another problem, arch, GPU, driver, nvcc or kernel than the first; import it by itself";
                return Err(invalid(reason.to_owned()));
            }
        }
    }
    let none = || ExchangeError::Invalid { path: PathBuf::new(), reason: "no file was named".to_owned() };
    recording.ok_or_else(none)
}

/// What a file holds, and whose it is.
fn contents(path: &Path, invalid: &impl Fn(String) -> ExchangeError) -> Result<(Results, Provenance), ExchangeError> {
    let document: Value = read(path)?;
    let format = |source| ExchangeError::Format { path: path.to_owned(), source };
    if document.get("cache").is_none() {
        let results = serde_json::from_value(document).map_err(format)?;
        let metadata: MetadataFile = read(&metadata_path(path))?;
        return Ok((results, metadata.metadata.autokernel));
    }
    let cache: CacheFile = serde_json::from_value(document).map_err(format)?;
    let results = cache.results().map_err(invalid)?;
    let nobodys = "it does not say of which target and environment it is; add `autokernel`, as `tuner export --format cache` writes it";
    Ok((results, cache.autokernel.ok_or_else(|| invalid(nobodys.to_owned()))?))
}

fn rows(
    results: &Results,
    invalid: &impl Fn(String) -> ExchangeError,
) -> Result<Vec<(autokernel_codegen::schedule::Schedule, crate::outcome::Outcome)>, ExchangeError> {
    let mut seen = HashSet::new();
    let mut rows = Vec::new();
    for (number, row) in results.results.iter().enumerate() {
        let schedule = row.schedule().map_err(|error| invalid(format!("result {number} is no schedule: {error}")))?;
        let outcome = row.outcome().map_err(|reason| invalid(format!("result {number}: {reason}")))?;
        // Tuners that try a configuration twice report it twice; the first counts.
        if seen.insert(schedule) {
            rows.push((schedule, outcome));
        }
    }
    Ok(rows)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ExchangeError> {
    let text = std::fs::read(path).map_err(|source| ExchangeError::Io { path: path.to_owned(), source })?;
    serde_json::from_slice(&text).map_err(|source| ExchangeError::Format { path: path.to_owned(), source })
}
