//! What the tests share.

#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

mod fixture;
mod skip;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub use fixture::{GPU, cube, gpu, outcome, recording, recording_of, write_space};
pub use skip::skip;

/// The real binary in a folder of its own, with the made-up space.
pub struct Tuner {
    folder: tempfile::TempDir,
}

impl Tuner {
    /// A folder with the made-up space in `spaces`.
    pub fn new() -> Self {
        let tuner = Tuner::without_spaces();
        write_space(&tuner.folder().join("spaces"));
        tuner
    }

    /// An empty folder.
    pub fn without_spaces() -> Self {
        Tuner { folder: tempfile::tempdir().unwrap() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file of the output folder.
    pub fn out(&self, name: &str) -> PathBuf {
        self.folder().join("tuner-out").join(name)
    }

    /// What was journaled in the output folder: the lines behind the head, without their checksums.
    pub fn journaled(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.out("history.jsonl")).unwrap();
        let line = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("crc32").expect("each line has a checksum");
            line
        };
        text.lines().map(line).filter(|line| line["line"] != "journal").collect()
    }

    /// The command, not yet run.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tuner"));
        command.current_dir(self.folder()).env_remove("OPENAI_API_KEY").env_remove("AUTOKERNEL_CACHE_DIR");
        if !args.contains(&"--spaces") {
            command.args(["--spaces", "spaces"]);
        }
        command.args(args);
        command
    }

    /// A subcommand, which takes its options after its name.
    pub fn sub(&self, args: &[&str]) -> Output {
        self.plain(args).output().unwrap()
    }

    /// The command with these arguments alone, not yet run.
    pub fn plain(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tuner"));
        command.current_dir(self.folder()).env_remove("OPENAI_API_KEY").env_remove("AUTOKERNEL_CACHE_DIR").args(args);
        command
    }

    /// What the command leaves when it has run.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }
}
