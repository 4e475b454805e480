//! The closing report of `cargo xtask test`.

use std::fmt;
use std::time::Instant;

use super::libtest::Tests;
use super::skip_log::Skipped;
use super::step::Step;

/// A step that has run.
pub struct Finished {
    pub step: Step,
    pub started: Instant,
    /// Until the last of what it runs has ended.
    pub seconds: f64,
    pub succeeded: bool,
}

/// What ran and how it went.
#[derive(Default)]
pub struct Summary {
    pub steps: Vec<Finished>,
    /// Absent if no test binary ran.
    pub tests: Option<Tests>,
    pub skipped: Skipped,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finished { step, seconds, succeeded, .. } in &self.steps {
            let outcome = if *succeeded { "ok" } else { "FAILED" };
            writeln!(f, "{:<8}{seconds:>8.1} s  {outcome}", step.to_string())?;
        }
        let Some(tests) = &self.tests else { return Ok(()) };
        for name in &tests.failures {
            writeln!(f, "failed: {name}")?;
        }
        for (reason, skipped) in self.skipped.reasons() {
            writeln!(f, "skipped {}: {reason}", skipped.len())?;
        }
        if tests.ignored > 0 {
            writeln!(f, "skipped {}: marked #[ignore]", tests.ignored)?;
        }
        // The harness counts a test that skipped itself among the passed ones.
        let passed = tests.passed.saturating_sub(self.skipped.count());
        let skipped = self.skipped.count() + tests.ignored;
        writeln!(f, "{passed} passed, {} failed, {skipped} skipped", tests.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_tests_that_skipped_themselves_as_skipped() {
        let skip_log = super::super::SkipLog::create().unwrap();
        std::fs::write(skip_log.path(), "skipped: gpu::a: no GPU\nskipped: gpu::b: no GPU\n").unwrap();
        let summary = Summary {
            steps: vec![Finished { step: Step::Tests, started: Instant::now(), seconds: 12.34, succeeded: true }],
            tests: Some(Tests { binaries: 1, passed: 10, ignored: 1, ..Tests::default() }),
            skipped: skip_log.read().unwrap(),
        };
        let expected = "\
tests       12.3 s  ok
skipped 2: no GPU
skipped 1: marked #[ignore]
8 passed, 0 failed, 3 skipped
";
        assert_eq!(summary.to_string(), expected);
    }

    #[test]
    fn a_run_that_fails_before_the_tests_counts_no_tests() {
        let summary = Summary {
            steps: vec![Finished { step: Step::Clippy, started: Instant::now(), seconds: 1.0, succeeded: false }],
            ..Summary::default()
        };
        assert_eq!(summary.to_string(), "clippy       1.0 s  FAILED\n");
    }

    #[test]
    fn failed_tests_are_named_before_the_last_line() {
        let summary = Summary {
            tests: Some(Tests { binaries: 1, failed: 1, failures: vec!["a::b".into()], ..Tests::default() }),
            ..Summary::default()
        };
        assert_eq!(summary.to_string(), "failed: a::b\n0 passed, 1 failed, 0 skipped\n");
    }
}
