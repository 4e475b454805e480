//! The append-only journal of trials: JSON lines, each on disk before the next trial begins.
//!
//! A tuner that is killed loses at most the line it was writing; the next one drops that half line and goes on. Every
//! trial is found again by its key (`trial::key`), so nothing is measured twice. Beside it,
//! `Intents` say what is running, so that what takes the tuner down is not tried again.

mod checksum;
mod error;
mod line;
mod lock;
mod read;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder;
use crate::held_final::HeldFinal;
use crate::intents::Intents;
use crate::store::{Records, Reference, Store, StoreError};
use crate::trial::Trial;

pub(crate) use error::JournalError;
pub(crate) use read::{Recovery, read_trials};
#[cfg(test)]
pub(crate) use read::{parse_trials, sealed, unsealed};

use error::io;
use line::{Line, Lines};
use lock::Lock;

/// What to do with a journal that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Go on with it.
    Resume,
    /// Put it aside, as `….old` or, where there is one, `….old.2`, and begin an empty one.
    Fresh,
}

/// An open journal. No other process can open it meanwhile.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    records: Records,
    recovery: Recovery,
    intents: Arc<Intents>,
    _lock: Lock,
}

impl Journal {
    /// Opens the journal at `path`, creating it if need be. A last line that was cut short is dropped, and what was running
    /// when its last writer was killed is journaled as a failure.
    ///
    /// # Errors
    /// Another tuner has it open, a line in its middle is damaged, or it cannot be read or written.
    pub fn open(path: &Path, start: Start) -> Result<Self, JournalError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io(folder))?;
        }
        let lock = Lock::acquire(path)?;
        if start == Start::Fresh && path.exists() {
            std::fs::rename(path, folder::aside(path)).map_err(io(path))?;
        }
        let intents = Arc::new(Intents::beside(path));
        if start == Start::Fresh {
            intents.clear();
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io(path))?;
        let (Lines { trials, references, finals, version: _ }, recovery) = read::read_and_repair(&mut file, path)?;
        sync_folder(path)?;
        let (path, records) = (path.to_owned(), Records::new(trials, finals, references));
        let mut journal = Journal { path, file, records, recovery, intents, _lock: lock };
        if journal.file.metadata().map_err(io(&journal.path))?.len() == 0 {
            journal.write(Line::Journal { version: line::VERSION })?;
        }
        journal.blame_what_was_running()?;
        Ok(journal)
    }

    fn blame_what_was_running(&mut self) -> Result<(), JournalError> {
        for trial in self.intents.left_behind().map_err(io(&self.path))? {
            if self.records.find(&trial.key()).is_none() {
                self.recovery.blamed.push(trial.schedule);
                self.append(trial)?;
            }
        }
        self.intents.clear();
        Ok(())
    }

    /// Writes `trial` and waits until it is on disk.
    ///
    /// # Errors
    /// The line could not be written; what was journaled before stays valid.
    pub fn append(&mut self, trial: Trial) -> Result<(), JournalError> {
        if let Line::Trial(trial) = self.write(Line::Trial(trial))? {
            self.records.push(trial);
        }
        Ok(())
    }

    /// Writes `line`, waits until it is on disk, and gives it back.
    fn write(&mut self, line: Line) -> Result<Line, JournalError> {
        self.write_all(std::slice::from_ref(&line))?;
        Ok(line)
    }

    /// Writes `lines` and waits until they are on disk.
    fn write_all(&mut self, lines: &[Line]) -> Result<(), JournalError> {
        let mut text = Vec::new();
        for line in lines {
            text.extend(checksum::seal(serde_json::to_vec(line).expect("lines have only string keys")));
            text.push(b'\n');
        }
        let before = self.file.metadata().map_err(io(&self.path))?.len();
        if let Err(source) = self.file.write_all(&text).and_then(|()| self.file.sync_data()) {
            // Best effort: half a line on a full disk would also be dropped by the next open.
            let _ = self.file.set_len(before);
            return Err(io(&self.path)(source));
        }
        Ok(())
    }

    /// Every trial, in the order in which they were made.
    pub fn trials(&self) -> &[Trial] {
        self.records.trials()
    }

    /// What is to be told before a schedule runs.
    pub fn intents(&self) -> &Arc<Intents> {
        &self.intents
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

impl Store for Journal {
    fn records(&self) -> &Records {
        &self.records
    }

    /// Nobody else writes it.
    fn refresh(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn plan(&mut self, drafts: Vec<Trial>) -> Result<(), StoreError> {
        self.intents.plan(drafts);
        Ok(())
    }

    fn intents(&self) -> Option<Arc<Intents>> {
        Some(Arc::clone(&self.intents))
    }

    fn append_all(&mut self, trials: Vec<Trial>) -> Result<(), StoreError> {
        let lines: Vec<Line> = trials.into_iter().map(Line::Trial).collect();
        self.write_all(&lines)?;
        for line in lines {
            if let Line::Trial(trial) = line {
                self.records.push(trial);
            }
        }
        Ok(())
    }

    fn append_final(&mut self, held: HeldFinal) -> Result<(), StoreError> {
        if let Line::Final(held) = self.write(Line::Final(held))? {
            self.records.push_final(held);
        }
        Ok(())
    }

    fn append_reference(&mut self, reference: Reference) -> Result<(), StoreError> {
        if let Line::Reference(reference) = self.write(Line::Reference(reference))? {
            self.records.push_reference(reference);
        }
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.intents.clear();
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
