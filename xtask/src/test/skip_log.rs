//! Tests that pass without having run, because a GPU or nvcc is missing.
//!
//! The harness hides what passing tests print, so such a test appends one line,
//! `skipped: <test name>: <reason>`, to the file that [`SKIP_LOG`] names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// The environment variable that names the log to tests.
pub const SKIP_LOG: &str = "AUTOKERNEL_SKIP_LOG";

/// The log of one run; the file goes away with this value.
pub struct SkipLog {
    file: NamedTempFile,
}

/// Skipped tests by reason.
#[derive(Debug, Default, PartialEq)]
pub struct Skipped {
    tests_by_reason: BTreeMap<String, Vec<String>>,
}

impl SkipLog {
    pub fn create() -> Result<Self> {
        let file = NamedTempFile::with_prefix("autokernel-skipped-")
            .context("cannot create a temporary file for skipped tests: check TMPDIR")?;
        Ok(Self { file })
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn read(&self) -> Result<Skipped> {
        let log = fs::read_to_string(self.path())
            .with_context(|| format!("cannot read the log of skipped tests, {}", self.path().display()))?;
        Ok(Skipped::parse(&log))
    }
}

impl Skipped {
    /// Reads `skipped: <test name>: <reason>` lines. A line of another form is counted under its
    /// whole text, since a skip must never go unseen.
    fn parse(log: &str) -> Self {
        let mut tests_by_reason = BTreeMap::<String, Vec<String>>::new();
        for line in log.lines().map(str::trim).filter(|line| !line.is_empty()) {
            // Paths in test names hold "::" but never ": ".
            let named = line.strip_prefix("skipped: ").and_then(|rest| rest.split_once(": "));
            let (test, reason) = named.unwrap_or(("unnamed", line));
            tests_by_reason.entry(reason.to_owned()).or_default().push(test.to_owned());
        }
        Self { tests_by_reason }
    }

    /// How many tests were skipped.
    pub fn count(&self) -> usize {
        self.tests_by_reason.values().map(Vec::len).sum()
    }

    /// Each reason with its tests, in the order of the reasons.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.tests_by_reason.iter().map(|(reason, tests)| (reason.as_str(), tests.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn skipped(log: &str) -> Vec<(String, usize)> {
        let skipped = Skipped::parse(log);
        skipped.reasons().map(|(reason, tests)| (reason.to_owned(), tests.len())).collect()
    }

    #[test]
    fn skipped_tests_are_counted_by_reason() {
        let log = "\
skipped: gpu::random_shapes: no NVIDIA driver
skipped: nvcc::compiles: nvcc: not found
skipped: gpu::guard_zones: no NVIDIA driver
";
        assert_eq!(skipped(log), [("no NVIDIA driver".into(), 2), ("nvcc: not found".into(), 1)]);
    }

    #[test]
    fn a_line_of_another_form_still_counts() {
        assert_eq!(skipped("no GPU here\n\n"), [("no GPU here".into(), 1)]);
    }

    #[test]
    fn what_tests_append_to_the_file_is_read_back() {
        let log = SkipLog::create().unwrap();
        assert_eq!(log.read().unwrap().count(), 0);
        let mut file = fs::OpenOptions::new().append(true).open(log.path()).unwrap();
        writeln!(file, "skipped: a::b: no GPU").unwrap();
        assert_eq!(log.read().unwrap(), Skipped::parse("skipped: a::b: no GPU"));
        assert_eq!(log.read().unwrap().count(), 1);
    }
}
