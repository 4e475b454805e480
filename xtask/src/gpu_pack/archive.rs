//! A reproducible .tar.gz: the same files give the same bytes.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;

/// One file of the archive.
pub struct Entry {
    /// Inside the archive's top folder.
    pub path: String,
    pub source: Source,
    executable: bool,
}

/// Where an entry's bytes come from.
pub enum Source {
    File(PathBuf),
    Text(String),
}

impl Entry {
    pub fn program(path: impl Into<String>, source: Source) -> Self {
        Self { path: path.into(), source, executable: true }
    }

    pub fn data(path: impl Into<String>, source: Source) -> Self {
        Self { path: path.into(), source, executable: false }
    }
}

impl Source {
    pub fn length(&self) -> Result<u64> {
        match self {
            Self::File(path) => {
                let metadata = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
                Ok(metadata.len())
            }
            Self::Text(text) => Ok(text.len() as u64),
        }
    }

    fn read(&self) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::File(path) => {
                let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                Ok(bytes.into())
            }
            Self::Text(text) => Ok(text.as_bytes().into()),
        }
    }
}

/// Writes `entries` under the folder `top`, and replaces `path` only when the archive is whole.
pub fn write(path: &Path, top: &str, entries: &[Entry]) -> Result<()> {
    let partial = path.with_extension("partial");
    let file = File::create(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let gzip = append(GzEncoder::new(file, Compression::best()), top, entries)?;
    gzip.finish()?.sync_all()?;
    fs::rename(&partial, path).with_context(|| format!("cannot write {}", path.display()))
}

fn append<W: Write>(out: W, top: &str, entries: &[Entry]) -> Result<W> {
    let mut archive = tar::Builder::new(out);
    for entry in entries {
        let bytes = entry.source.read()?;
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(if entry.executable { 0o755 } else { 0o644 });
        archive
            .append_data(&mut header, format!("{top}/{}", entry.path), &*bytes)
            .with_context(|| format!("cannot pack {}", entry.path))?;
    }
    Ok(archive.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn entries(dir: &Path) -> Vec<Entry> {
        let built = dir.join("gpu_shapes-0f3a");
        fs::write(&built, "ELF").unwrap();
        vec![
            Entry::program("tests/gpu_shapes", Source::File(built)),
            Entry::data("best_config.json", Source::Text("{}".into())),
        ]
    }

    #[test]
    fn an_archive_holds_its_entries_with_their_modes_and_contents() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pack.tar.gz");
        write(&path, "pack", &entries(dir.path())).unwrap();
        let mut archive = tar::Archive::new(GzDecoder::new(File::open(&path).unwrap()));
        let read = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap(), text)
        });
        let expected = [
            ("pack/tests/gpu_shapes".to_owned(), 0o755, "ELF".to_owned()),
            ("pack/best_config.json".to_owned(), 0o644, "{}".to_owned()),
        ];
        assert_eq!(read.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_same_files_give_the_same_bytes_and_leave_no_partial_archive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pack.tar.gz");
        write(&path, "pack", &entries(dir.path())).unwrap();
        let first = fs::read(&path).unwrap();
        write(&path, "pack", &entries(dir.path())).unwrap();
        assert_eq!(fs::read(&path).unwrap(), first);
        assert!(!path.with_extension("partial").exists());
    }

    #[test]
    fn a_file_that_is_gone_keeps_the_last_archive_and_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pack.tar.gz");
        fs::write(&path, "last").unwrap();
        let gone = [Entry::program("tests/gone", Source::File(dir.path().join("gone")))];
        let text = format!("{:#}", write(&path, "pack", &gone).unwrap_err());
        assert!(text.contains("gone"), "{text}");
        assert_eq!(fs::read(&path).unwrap(), b"last");
    }
}
