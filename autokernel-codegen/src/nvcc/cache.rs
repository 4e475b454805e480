//! Compiled kernels by the hash of everything they depend on.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::image::Image;
use super::report::PtxasReport;

const SOURCE: &str = "kernel.cu";
const PTX: &str = "kernel.ptx";
const CUBIN: &str = "kernel.cubin";
const REPORT: &str = "report.json";

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

    /// The image stored under `key`, if all of it is there.
    pub fn find(&self, key: &str) -> Option<Image> {
        let entry = self.folder.join(key);
        let report = serde_json::from_slice(&std::fs::read(entry.join(REPORT)).ok()?).ok()?;
        let image = Image { ptx: entry.join(PTX), cubin: entry.join(CUBIN), report, cached: true };
        (image.ptx.is_file() && image.cubin.is_file()).then_some(image)
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
        std::fs::write(ready.join(REPORT), serde_json::to_vec(&report)?)?;

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

    /// Removes what killed processes left. A failure leaves it for the next time.
    fn remove_abandoned(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let abandoned = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > ABANDONED);
            if entry.file_name().as_encoded_bytes().starts_with(WORK.as_bytes())
                && entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(abandoned)
            {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}
