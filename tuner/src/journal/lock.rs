//! One tuner a journal.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::error::{JournalError, io};

/// An exclusive lock on `….lock` beside a journal. The system drops it with the process, however that ends.
///
/// The file stays: were it removed, a third tuner could lock a new one while a second still waits on the old.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks `journal`, at once or not at all.
    pub fn acquire(journal: &Path) -> Result<Self, JournalError> {
        let path = lock_path(journal);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::Busy { path: journal.to_owned(), pid: holder(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(io(&path)(source)),
        }
        // Whose it is serves the other's error message alone.
        let written = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        written.map_err(io(&path))?;
        Ok(Lock { _file: file })
    }
}

fn lock_path(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
