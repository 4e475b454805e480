//! The append-only journal of trials: JSON lines, each on disk before the next trial begins.
//!
//! A tuner that is killed loses at most the line it was writing; the next one drops that half line and goes on. Every
//! trial is found again by its key ([`trial::key`](crate::trial::key)), so nothing is measured twice.

mod error;
mod lock;
mod read;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::outcome::Measurement;
use crate::target::Target;
use crate::trial::{Trial, TrialKey};

pub use error::JournalError;
use error::io;
use lock::Lock;
pub use read::{Recovery, read_trials};

/// A line of the journal; new kinds of lines can join.
#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Trial(Trial),
    Reference(Reference),
}

/// The time of cuBLAS that a language model was told of.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reference {
    target: Target,
    environment: Environment,
    cublas: Measurement,
}

/// What to do with a journal that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Go on with it.
    Resume,
    /// Put it aside, as `….old`, and begin an empty one.
    Fresh,
}

/// An open journal. No other process can open it meanwhile.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    trials: Vec<Trial>,
    references: Vec<Reference>,
    by_key: HashMap<TrialKey, usize>,
    recovery: Recovery,
    _lock: Lock,
}

impl Journal {
    /// Opens the journal at `path`, creating it if need be. A last line that was cut short is dropped.
    ///
    /// # Errors
    /// Another tuner has it open, a line in its middle is not JSON, or it cannot be read or written.
    pub fn open(path: &Path, start: Start) -> Result<Self, JournalError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io(folder))?;
        }
        let lock = Lock::acquire(path)?;
        if start == Start::Fresh && path.exists() {
            std::fs::rename(path, path.with_extension("jsonl.old")).map_err(io(path))?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io(path))?;
        let (lines, recovery) = read::read_and_repair(&mut file, path)?;
        sync_folder(path)?;
        let (mut trials, mut references) = (Vec::new(), Vec::new());
        for line in lines {
            match line {
                Line::Trial(trial) => trials.push(trial),
                Line::Reference(reference) => references.push(reference),
            }
        }
        let by_key = trials.iter().enumerate().map(|(index, trial)| (trial.key(), index)).collect();
        Ok(Journal { path: path.to_owned(), file, trials, references, by_key, recovery, _lock: lock })
    }

    /// Writes `trial` and waits until it is on disk.
    ///
    /// # Errors
    /// The line could not be written; what was journaled before stays valid.
    pub fn append(&mut self, trial: Trial) -> Result<(), JournalError> {
        let line = Line::Trial(trial);
        self.write(&line)?;
        let Line::Trial(trial) = line else { return Ok(()) };
        self.by_key.insert(trial.key(), self.trials.len());
        self.trials.push(trial);
        Ok(())
    }

    /// Writes the time of cuBLAS for `target` in `environment`.
    ///
    /// # Errors
    /// As for [`append`](Journal::append).
    pub fn append_reference(
        &mut self,
        target: &Target,
        environment: &Environment,
        cublas: Measurement,
    ) -> Result<(), JournalError> {
        let reference = Reference { target: target.clone(), environment: environment.clone(), cublas };
        self.write(&Line::Reference(reference.clone()))?;
        self.references.push(reference);
        Ok(())
    }

    /// The time of cuBLAS for `target` in `environment`, if it was journaled.
    pub fn reference(&self, target: &Target, environment: &Environment) -> Option<&Measurement> {
        let known = |reference: &&Reference| reference.target == *target && reference.environment == *environment;
        self.references.iter().find(known).map(|reference| &reference.cublas)
    }

    /// Writes `line` and waits until it is on disk.
    fn write(&mut self, line: &Line) -> Result<(), JournalError> {
        let mut text = serde_json::to_vec(line).expect("lines have only string keys");
        text.push(b'\n');
        let before = self.file.metadata().map_err(io(&self.path))?.len();
        if let Err(source) = self.file.write_all(&text).and_then(|()| self.file.sync_data()) {
            // Best effort: half a line on a full disk would also be dropped by the next open.
            let _ = self.file.set_len(before);
            return Err(io(&self.path)(source));
        }
        Ok(())
    }

    /// The trial with this key, if it has been made.
    pub fn find(&self, key: &TrialKey) -> Option<&Trial> {
        self.by_key.get(key).map(|&index| &self.trials[index])
    }

    /// Every trial, in the order in which they were made.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The trials for `target` in `environment`.
    pub fn trials_of<'j>(
        &'j self,
        target: &'j Target,
        environment: &'j Environment,
    ) -> impl Iterator<Item = &'j Trial> {
        self.trials.iter().filter(move |trial| trial.target == *target && trial.environment == *environment)
    }

    /// What had to be repaired when the journal was opened.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a newly created file survive a power cut: its name is in the folder, which has its own blocks.
fn sync_folder(path: &Path) -> Result<(), JournalError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io(folder))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
