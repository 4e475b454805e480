//! The document that `tuner tune --json` prints.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::ending::Ending;
use super::error::AppError;
use crate::range::RangeOutcome;
use crate::report::{TargetDocument, TargetResult, VERSION};

/// What a run came to.
#[derive(Debug, Serialize)]
pub struct RunDocument {
    version: u32,
    status: &'static str,
    reason: String,
    exit_code: u8,
    targets: Vec<TargetDocument>,
    /// What was chosen for ranges of sizes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ranges: Vec<RangeOutcome>,
    /// The output folder; none if the run could not begin.
    out: Option<PathBuf>,
}

impl RunDocument {
    /// Of a run that left its outputs in `out`.
    pub fn of(ending: &Ending, results: &[TargetResult], ranges: Vec<RangeOutcome>, out: &Path) -> Self {
        let status = match ending {
            Ending::Finished => "finished",
            Ending::Interrupted => "interrupted",
            Ending::Unanswered(_) => "unanswered",
            Ending::Broken(_) => "broken",
        };
        RunDocument {
            version: VERSION,
            status,
            reason: ending.to_string(),
            exit_code: ending.exit_code(),
            targets: results.iter().map(TargetDocument::of).collect(),
            ranges,
            out: Some(out.to_owned()),
        }
    }

    /// Of a run that could not begin, or not write its outputs.
    pub fn failed(error: &AppError) -> Self {
        let (reason, exit_code) = (error.to_string(), error.exit_code());
        RunDocument {
            version: VERSION,
            status: "failed",
            reason,
            exit_code,
            targets: Vec::new(),
            ranges: Vec::new(),
            out: None,
        }
    }

    /// The document's text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a document has only string keys")
    }
}
