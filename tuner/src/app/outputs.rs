//! The files a run leaves behind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use autokernel_codegen::config::{Config, Entry};

use super::args::TuneArgs;
use super::ending::Ending;
use super::error::AppError;
use super::in_use::{put, save, write};
use crate::folder;
use crate::output::{self, OutputError};
use crate::range::RangeOutcome;
use crate::report::{self, Results, TargetDocument, TargetResult};
use crate::session::StopReason;
use crate::study::StudyUrl;
use crate::trial::Trial;

/// Where everything goes.
#[derive(Clone, Debug)]
pub struct Outputs {
    folder: PathBuf,
    /// The config in use, if it is to be written as well.
    in_use: Option<PathBuf>,
    /// The build script that reads it, if that is another crate's.
    script: Option<PathBuf>,
    /// Whether earlier runs count no more.
    starts_over: bool,
}

impl Outputs {
    /// Outputs in `folder`; promoted entries also into `in_use`.
    pub fn new(folder: &Path, in_use: Option<PathBuf>) -> Self {
        Outputs { folder: folder.to_owned(), in_use, script: None, starts_over: false }
    }

    /// The config in use is read by this build script.
    pub fn read_by(self, script: Option<PathBuf>) -> Self {
        Outputs { script, ..self }
    }

    /// What earlier runs left is not gone on with.
    pub fn starting_over(self, starts_over: bool) -> Self {
        Outputs { starts_over, ..self }
    }

    /// The journal.
    pub fn journal(&self) -> PathBuf {
        folder::journal(&self.folder)
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder, where no journal makes it.
    pub fn create_folder(&self) -> Result<(), OutputError> {
        std::fs::create_dir_all(&self.folder).map_err(OutputError::at(&self.folder))
    }

    /// The exchanges with a language model.
    pub fn transcript(&self) -> PathBuf {
        self.folder.join("transcript.jsonl")
    }

    /// Writes `config` with the winners of earlier runs and the new `entries` into the output folder and, if that was asked for, the entries into the
    /// config in use.
    pub fn write_config(&self, mut config: Config, entries: &[Entry]) -> Result<(), AppError> {
        let path = self.folder.join("best_config.json");
        let earlier = if self.starts_over { Vec::new() } else { earlier_winners(&path, &config) };
        put(&mut config, &earlier);
        put(&mut config, entries);
        save(&config, &path)?;
        if let Some(path) = self.in_use.as_ref().filter(|_| !entries.is_empty()) {
            let is_new = !path.exists();
            write(path, entries)?;
            if is_new {
                self.touch_script();
            }
        }
        Ok(())
    }

    /// A build script watches the config only if it was there when the script last ran: cargo would otherwise not
    /// notice the new one.
    fn touch_script(&self) {
        let Some(script) = &self.script else { return };
        let touched = File::options().append(true).open(script).and_then(|file| file.set_modified(SystemTime::now()));
        if let Err(error) = touched {
            errln!("warning: {}: {error}; touch it, so that cargo reads the new config", script.display());
        }
    }

    /// Writes the history as CSV, and the charts of `results`.
    pub fn write_reports(&self, trials: &[Trial], results: &[TargetResult]) -> Result<(), AppError> {
        let path = self.folder.join("history.csv");
        let csv = report::history_csv(trials).map_err(OutputError::at(&path))?;
        self.write("history.csv", &csv)?;
        self.write_results(results)?;
        self.write("learning_curve.svg", report::learning_curves(results)?.as_bytes())?;
        self.write("roofline.svg", report::roofline(results)?.as_bytes())
    }

    /// What each target came to; targets of earlier runs stay.
    fn write_results(&self, results: &[TargetResult]) -> Result<(), AppError> {
        let path = self.folder.join(Results::FILE);
        let mut file = Results::load(&path).unwrap_or_else(|reason| {
            put_aside(&path, &reason);
            Results::default()
        });
        results.iter().map(TargetDocument::of).for_each(|document| file.upsert(document));
        Ok(file.save(&path).map_err(OutputError::at(&path))?)
    }

    fn write(&self, name: &str, contents: &[u8]) -> Result<(), AppError> {
        Ok(output::write(&self.folder.join(name), contents)?)
    }

    /// Where everything is, for people: the trials are in the journal, or in `study`; all else only if it was written, and
    /// `entries` also into the config in use.
    pub fn listing(&self, study: Option<&StudyUrl>, is_written: bool, entries: &[Entry]) -> String {
        let folder = self.folder.display();
        let trials = study.map_or_else(|| self.journal().display().to_string(), ToString::to_string);
        if !is_written {
            return format!("history       {trials}; not everything else could be written, see below");
        }
        let report = if study.is_some() { "tuner report --study URL" } else { "tuner report" };
        let mut text = format!(
            "history       {trials}, {folder}/history.csv\n\
             results       {folder}/results.json; `{report}` makes a page of them\n\
             charts        {folder}/learning_curve.svg, {folder}/roofline.svg\n\
             new config    {folder}/best_config.json"
        );
        if let Some(path) = &self.in_use {
            text += &match entries.len() {
                0 => format!("; {} is as it was: no entry is new", path.display()),
                _ => format!(", and written into {}", path.display()),
            };
        }
        text
    }
}

/// The command that makes sense now.
pub fn next_command(args: &TuneArgs, ending: &Ending, results: &[TargetResult], ranges: &[RangeOutcome]) -> String {
    let verdicts = results.iter().filter_map(|result| result.promotion.as_ref());
    let promoted = verdicts.filter(|promotion| promotion.verdict.promoted).count()
        + ranges.iter().filter(|range| range.promoted).count();
    let next = match ending {
        Ending::Interrupted | Ending::Broken(_) => "the same command again goes on where this run ended".to_owned(),
        Ending::Unanswered(replies) => {
            let replies: Vec<String> = replies.iter().map(|reply| reply.display().to_string()).collect();
            format!("write the reply to {}; the same command then goes on", replies.join(", "))
        }
        Ending::Finished if promoted == 0 && results.iter().all(is_exhausted) => {
            "every schedule that may be tried was tried; other shapes and kernels are left to tune".to_owned()
        }
        Ending::Finished
            if promoted == 0 && results.iter().any(|result| result.search.stopped == StopReason::TimeSpent) =>
        {
            "the same command again goes on where its time was over".to_owned()
        }
        Ending::Finished
            if promoted == 0 && results.iter().any(|result| result.search.stopped == StopReason::Plateau) =>
        {
            "a larger --patience, another --seed or another --strategy searches on from here".to_owned()
        }
        Ending::Finished if promoted == 0 => {
            let generations = args.generations.map(|generations| format!(" --generations {}", 2 * generations));
            let generations = generations.unwrap_or_default();
            format!("--evaluations {}{generations} searches on from here", 2 * args.evaluations())
        }
        Ending::Finished if args.write => "cargo build, which compiles the promoted schedules in".to_owned(),
        Ending::Finished => "the same command with --write puts the promoted entries into the config in use".to_owned(),
    };
    format!("next          {next}")
}

fn is_exhausted(result: &TargetResult) -> bool {
    result.search.stopped == StopReason::NothingLeft
}

/// The entries of the config at `path` that earlier runs found and that `in_use` has nothing as new for.
fn earlier_winners(path: &Path, in_use: &Config) -> Vec<Entry> {
    if !path.exists() {
        return Vec::new();
    }
    let earlier = match Config::load(path) {
        Ok(earlier) => earlier.entries,
        Err(error) => {
            put_aside(path, &error.to_string());
            return Vec::new();
        }
    };
    let is_newer = |entry: &Entry| {
        let place = |entry: &Entry| {
            let Entry { problem, arch, extents, range, provenance, .. } = entry;
            (problem.clone(), *arch, *extents, *range, provenance.gpu.clone())
        };
        let same = in_use.entries.iter().find(|used| place(used) == place(entry));
        same.is_none_or(|used| used != entry && used.provenance.date <= entry.provenance.date)
    };
    earlier.into_iter().filter(is_newer).collect()
}

/// Keeps a damaged file under another name, and says so.
fn put_aside(path: &Path, reason: &str) {
    let aside = folder::aside(path);
    match std::fs::rename(path, &aside) {
        Ok(()) => {
            errln!("warning: {}: {reason}; it is kept as {}, and a new one begun", path.display(), aside.display())
        }
        Err(error) => errln!("warning: {}: {reason}; it is written anew ({error})", path.display()),
    }
}
