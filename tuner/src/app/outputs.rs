//! The files a run leaves behind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use autokernel_codegen::config::{Config, Entry};

use super::args::TuneArgs;
use super::ending::Ending;
use super::error::AppError;
use super::in_use::{put, write};
use crate::folder;
use crate::output::{self, OutputError};
use crate::report::{self, Results, TargetDocument, TargetResult};
use crate::trial::Trial;

/// Where everything goes.
#[derive(Clone, Debug)]
pub struct Outputs {
    folder: PathBuf,
    /// The config in use, if it is to be written as well.
    in_use: Option<PathBuf>,
    /// The build script that reads it, if that is another crate's.
    script: Option<PathBuf>,
}

impl Outputs {
    /// Outputs in `folder`; promoted entries also into `in_use`.
    pub fn new(folder: &Path, in_use: Option<PathBuf>) -> Self {
        Outputs { folder: folder.to_owned(), in_use, script: None }
    }

    /// The config in use is read by this build script.
    pub fn read_by(self, script: Option<PathBuf>) -> Self {
        Outputs { script, ..self }
    }

    /// The journal.
    pub fn journal(&self) -> PathBuf {
        folder::journal(&self.folder)
    }

    /// The exchanges with a language model.
    pub fn transcript(&self) -> PathBuf {
        self.folder.join("transcript.jsonl")
    }

    /// Writes `config` with the new `entries` into the output folder and, if that was asked for, the entries into the
    /// config in use.
    pub fn write_config(&self, mut config: Config, entries: &[Entry]) -> Result<(), AppError> {
        put(&mut config, entries);
        config.save(&self.folder.join("best_config.json"))?;
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
        let mut file = Results::load(&path).unwrap_or_default();
        results.iter().map(TargetDocument::of).for_each(|document| file.upsert(document));
        Ok(file.save(&path).map_err(OutputError::at(&path))?)
    }

    fn write(&self, name: &str, contents: &[u8]) -> Result<(), AppError> {
        Ok(output::write(&self.folder.join(name), contents)?)
    }

    /// Where everything is, for people.
    pub fn listing(&self) -> String {
        let folder = self.folder.display();
        let mut text = format!(
            "history       {folder}/history.jsonl, {folder}/history.csv\n\
             results       {folder}/results.json; `tuner report` makes a page of them\n\
             charts        {folder}/learning_curve.svg, {folder}/roofline.svg\n\
             new config    {folder}/best_config.json"
        );
        if let Some(path) = &self.in_use {
            text += &format!(", and written into {}", path.display());
        }
        text
    }
}

/// The command that makes sense now.
pub fn next_command(args: &TuneArgs, ending: &Ending, results: &[TargetResult]) -> String {
    let verdicts = results.iter().filter_map(|result| result.promotion.as_ref());
    let promoted = verdicts.filter(|promotion| promotion.verdict.promoted).count();
    let next = match ending {
        Ending::Interrupted | Ending::Broken(_) => "the same command again goes on where this run ended".to_owned(),
        Ending::Unanswered(replies) => {
            let replies: Vec<String> = replies.iter().map(|reply| reply.display().to_string()).collect();
            format!("write the reply to {}; the same command then goes on", replies.join(", "))
        }
        Ending::Finished if promoted == 0 => {
            format!("--evaluations {} searches on from here", 2 * args.evaluations)
        }
        Ending::Finished if args.write => "cargo build, which compiles the promoted schedules in".to_owned(),
        Ending::Finished => "the same command with --write puts the promoted entries into the config in use".to_owned(),
    };
    format!("next          {next}")
}
