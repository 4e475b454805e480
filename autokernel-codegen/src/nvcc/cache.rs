//! Compiled kernels by the hash of everything they depend on.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::image::Image;
use super::report::PtxasReport;
use crate::files;

const SOURCE: &str = "kernel.cu";
const PTX: &str = "kernel.ptx";
const CUBIN: &str = "kernel.cubin";
const REPORT: &str = "report.json";
/// In the place of all these, what ptxas said of a kernel that spills.
const REFUSAL: &str = "refusal.txt";

/// How work folders begin.
const WORK: &str = "compile-";
/// A work folder this old belongs to a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder with one folder for each compiled kernel.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub fn new(folder: PathBuf) -> Self {
        Cache { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The image stored under `key`, if all of it is there, as long as it was stored.
    pub fn find(&self, key: &str) -> Option<Image> {
        let entry = self.folder.join(key);
        let stored: Stored = serde_json::from_slice(&std::fs::read(entry.join(REPORT)).ok()?).ok()?;
        if Lengths::of(&entry).ok()? != stored.bytes {
            return None;
        }
        note_use(&entry.join(REPORT));
        Some(Image { ptx: entry.join(PTX), cubin: entry.join(CUBIN), report: stored.report, cached: true })
    }

    /// What was said of the kernel that was refused under `key`.
    pub fn refusal(&self, key: &str) -> Option<String> {
        let path = self.folder.join(key).join(REFUSAL);
        let log = std::fs::read_to_string(&path).ok()?;
        note_use(&path);
        Some(log)
    }

    /// Keeps `log` of a kernel that is refused whenever it is compiled.
    pub fn refuse(&self, key: &str, log: &str) -> std::io::Result<()> {
        let entry = self.folder.join(key);
        std::fs::create_dir_all(&entry)?;
        files::replace(&entry.join(REFUSAL), log.as_bytes())
    }

    /// An empty folder to compile in, removed with its owner.
    pub fn work_folder(&self) -> std::io::Result<TempDir> {
        std::fs::create_dir_all(&self.folder)?;
        self.remove_abandoned();
        tempfile::Builder::new().prefix(WORK).tempdir_in(&self.folder)
    }

    /// Moves what was compiled in `work` into the cache, in one step.
    pub fn store(&self, key: &str, work: &Path, report: PtxasReport) -> std::io::Result<Image> {
        let ready = work.join("ready");
        std::fs::create_dir(&ready)?;
        for file in [SOURCE, PTX, CUBIN] {
            std::fs::rename(work.join(file), ready.join(file))?;
        }
        let stored = Stored { report, bytes: Lengths::of(&ready)? };
        std::fs::write(ready.join(REPORT), serde_json::to_vec(&stored)?)?;

        let entry = self.folder.join(key);
        if std::fs::rename(&ready, &entry).is_err() && self.find(key).is_none() {
            // What stands there is not whole: half of it was deleted, or the disk was full. Where it is, another
            // process was faster with the same content.
            match std::fs::remove_dir_all(&entry) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            std::fs::rename(&ready, &entry)?;
        }
        Ok(Image { ptx: entry.join(PTX), cubin: entry.join(CUBIN), report, cached: false })
    }

    /// Removes kernels that were not asked for in so long. A failure leaves them for the next time.
    pub fn remove_unused(&self, unused: Duration) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let was_asked_for = [REPORT, REFUSAL].into_iter().find_map(|file| age(&entry.path().join(file)));
            if was_asked_for.is_some_and(|age| age > unused) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Removes what killed processes left. A failure leaves it for the next time.
    fn remove_abandoned(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(WORK.as_bytes())
                && age(&entry.path()).is_some_and(|age| age > ABANDONED)
            {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// What the report of an entry holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    report: PtxasReport,
    bytes: Lengths,
}

/// How long the files of an entry are, in bytes. A machine that lost its power may leave them empty.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lengths {
    ptx: u64,
    cubin: u64,
}

impl Lengths {
    fn of(entry: &Path) -> std::io::Result<Self> {
        let length = |file| std::fs::metadata(entry.join(file)).map(|file| file.len());
        Ok(Lengths { ptx: length(PTX)?, cubin: length(CUBIN)? })
    }
}

/// How long ago `path` was written.
fn age(path: &Path) -> Option<Duration> {
    std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

/// Dates the report or the refusal of a kernel that is asked for, once a day.
fn note_use(report: &Path) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    if age(report).is_some_and(|age| age > DAY) {
        // Of a cache that cannot be written nothing is removed either.
        let _ =
            std::fs::File::options().append(true).open(report).and_then(|file| file.set_modified(SystemTime::now()));
    }
}
