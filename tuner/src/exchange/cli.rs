//! The subcommands `export` and `import`.

use std::path::{Path, PathBuf};

use autokernel_core::Extents;

use super::error::ExchangeError;
use super::export::export;
use super::format::Format;
use super::import::import;
use crate::checkout::own_spaces;
use crate::folder;
use crate::gpu_facts::GpuFacts;
use crate::options::{is_wanted, shape};
use crate::replay::{Library, SUFFIX};
use crate::source::StudyArgs;
use crate::trial::Trial;

/// Write the trials of a journal in a format that other tuners read.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::T4)]
    pub format: Format,
    /// The journal.
    #[arg(long, value_name = "FILE", default_value = folder::DEFAULT_JOURNAL)]
    pub journal: PathBuf,
    /// Only this shape, as MxNxK; may be repeated.
    #[arg(long, value_name = "MxNxK", value_parser = shape)]
    pub shape: Vec<Extents>,
    /// The folder to write to: for each target a results file and its metadata, or a cache file.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Where the trials are.
    #[command(flatten)]
    pub source: StudyArgs,
}

/// Make a space to replay of another tuner's results: T4, or cache files of Kernel Tuner.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// The files, those of T4 each with its `.metadata.json` beside it: one problem on one GPU, a file for each shape.
    #[arg(required = true, value_name = "FILE")]
    pub results: Vec<PathBuf>,
    /// The recording to write; --spaces takes its folder. Its name ends in .json.gz.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

impl ExportArgs {
    /// Exports.
    ///
    /// # Errors
    /// The journal cannot be read or holds nothing that was asked for, or a file cannot be written.
    pub fn run(&self) -> Result<(), ExchangeError> {
        if self.source.study.is_none() && !self.journal.is_file() {
            return Err(ExchangeError::NoJournal(self.journal.clone()));
        }
        let trials = self.source.trials(&self.journal)?;
        let wanted = |trial: &&Trial| is_wanted(&self.shape, &trial.target.shape);
        let trials: Vec<&Trial> = trials.iter().filter(wanted).collect();
        if trials.is_empty() {
            return Err(ExchangeError::Nothing { journal: self.journal.clone() });
        }
        let library = Library::load(&own_spaces())?;
        for written in export(&trials, self.format, &self.out, |name| known_gpu(&library, name))? {
            outln!("{}: {} results", written.results.display(), written.rows);
        }
        Ok(())
    }
}

impl ImportArgs {
    /// Imports.
    ///
    /// # Errors
    /// A file cannot be read, is not in the format or of another problem, or the recording cannot be written.
    pub fn run(&self) -> Result<(), ExchangeError> {
        if !self.out.to_string_lossy().ends_with(SUFFIX) {
            let reason = format!("--spaces would not see it; let the name of --out end in {SUFFIX}");
            return Err(ExchangeError::Invalid { path: self.out.clone(), reason });
        }
        let library = Library::load(&own_spaces())?;
        let recording = import(&self.results, |name| known_gpu(&library, name))?;
        let folder = self.out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|source| ExchangeError::Io { path: folder.to_owned(), source })?;
        recording.save(&self.out)?;
        let rows: usize = recording.shapes.iter().map(|shape| shape.rows.len()).sum();
        outln!("{}: {rows} rows of {} shapes", self.out.display(), recording.shapes.len());
        outln!("next          tuner --spaces {}", folder.display());
        Ok(())
    }
}

fn known_gpu(library: &Library, name: &str) -> Option<GpuFacts> {
    let mut gpus = library.recordings.iter().map(|(_, recording)| &recording.gpu);
    gpus.find(|gpu| gpu.name == name).cloned()
}
