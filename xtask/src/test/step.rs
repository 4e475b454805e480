//! The steps of `cargo xtask test` and the cargo command of each.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::libtest::Tests;
use crate::cargo;

/// One check, by the name that `--only` takes.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Step {
    Fmt,
    Clippy,
    Tests,
    Docs,
}

/// What a plain build leaves out and the checks do not.
const FEATURES: &str = "tuner/study,autokernel-candle/gradients";

/// How a step ended.
pub struct Outcome {
    pub succeeded: bool,
    /// What the test binaries reported, if any did.
    pub tests: Option<Tests>,
}

impl Step {
    /// In the order in which they run: what fails fastest comes first.
    pub const ALL: [Self; 4] = [Self::Fmt, Self::Clippy, Self::Tests, Self::Docs];

    /// The command to run in the workspace root.
    pub fn command(self, root: &Path) -> Command {
        let mut command = cargo::command(root);
        match self {
            Self::Fmt => command.args(["fmt", "--all", "--check"]),
            Self::Clippy => {
                command.args(["clippy", "--workspace", "--features", FEATURES, "--all-targets", "--", "-D", "warnings"])
            }
            // All failures at once, rather than those of the first failing binary.
            Self::Tests => command.args(["test", "--workspace", "--features", FEATURES, "--no-fail-fast"]),
            Self::Docs => command
                .args(["doc", "--workspace", "--features", FEATURES, "--no-deps"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        };
        command
    }

    /// Runs `command` and reads what test binaries print on the way to the terminal.
    pub fn run(self, command: &mut Command) -> Result<Outcome> {
        command.stdin(Stdio::null());
        if self != Self::Tests {
            let status = command.status().with_context(|| format!("cargo does not start for step `{self}`"))?;
            return Ok(Outcome { succeeded: status.success(), tests: None });
        }
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cargo does not start for step `{self}`"))?;
        let mut tests = Tests::default();
        if let Some(output) = child.stdout.take() {
            read_tests(BufReader::new(output), io::stdout().lock(), &mut tests)?;
        }
        let status = child.wait()?;
        Ok(Outcome { succeeded: status.success(), tests: (tests.binaries > 0).then_some(tests) })
    }
}

/// Copies `output` to `terminal` line by line; a line need not be UTF-8.
fn read_tests(mut output: impl BufRead, mut terminal: impl Write, tests: &mut Tests) -> io::Result<()> {
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        terminal.write_all(&line)?;
        tests.read_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    terminal.flush()
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Tests => "tests",
            Self::Docs => "docs",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_displayed_name_of_a_step_is_what_only_takes() {
        for step in Step::ALL {
            assert_eq!(Step::from_str(&step.to_string(), false), Ok(step));
        }
    }

    #[test]
    fn test_output_passes_through_unchanged_and_is_counted() {
        let output = b"noise \xff\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n";
        let mut terminal = Vec::new();
        let mut tests = Tests::default();
        read_tests(&output[..], &mut terminal, &mut tests).unwrap();
        assert_eq!(terminal, output);
        assert_eq!(tests.passed, 2);
    }
}
