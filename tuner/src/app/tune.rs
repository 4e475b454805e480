//! `tuner tune`: what is in use, the run, the outputs.

use std::fmt;
use std::path::{Path, PathBuf};

use autokernel_codegen::config::Config;

use super::error::AppError;
use super::json::RunDocument;
use super::outputs::{Outputs, next_command};
use super::run::Run;
use super::select::jobs;
use crate::cli::TuneArgs;
use crate::journal::{Journal, Start};
use crate::report::summary;
use crate::session::{INTERRUPTED, Stop};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every target was tuned.
    Finished,
    /// Somebody stopped it; the outputs are written.
    Interrupted,
    /// It could not go on; the outputs are written.
    Broken(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Finished => f.write_str("every target was tuned"),
            Ending::Interrupted => f.write_str("interrupted; what was measured is kept"),
            Ending::Broken(reason) => write!(f, "it could not go on: {reason}"),
        }
    }
}

impl Ending {
    /// The documented exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Ending::Finished => 0,
            Ending::Broken(_) => 1,
            Ending::Interrupted => INTERRUPTED,
        }
    }
}

/// The config in use where none is named.
pub const DEFAULT_CONFIG: &str = "best_config.json";

/// Tunes what `args` ask for, and writes the outputs even if it is stopped.
///
/// # Errors
/// It could not begin, or an output could not be written.
pub fn tune(args: &TuneArgs, stop: &Stop) -> Result<Ending, AppError> {
    let (config_path, config) = load_config(args.config.as_deref())?;
    let jobs = jobs(args)?;
    let outputs = Outputs::new(&args.out, args.write.then_some(config_path));
    let start = if args.fresh { Start::Fresh } else { Start::Resume };
    let mut journal = Journal::open(&outputs.journal(), start)?;
    report_recovery(&journal);

    let mut run = Run::new(args, &config, &mut journal, stop);
    let ending = run.tune_all(jobs)?;
    let Run { results, promoted, .. } = run;
    let written =
        outputs.write_config(config, &promoted).and_then(|()| outputs.write_reports(journal.trials(), &results));
    let text = format!(
        "{}\n{}\nended         {ending}\n{}",
        summary(&results),
        outputs.listing(),
        next_command(args, &ending, &results)
    );
    let ending = match (ending, written) {
        (ending, Ok(())) => ending,
        // A full disk breaks both; what broke the search says more.
        (Ending::Broken(reason), Err(error)) => Ending::Broken(format!("{reason}\nand: {error}")),
        (_, Err(error)) => {
            tell(args, &text);
            return Err(error);
        }
    };
    tell(args, &text);
    if args.json {
        println!("{}", RunDocument::of(&ending, &results, &args.out).to_json());
    }
    Ok(ending)
}

/// Says `text` where people read it.
fn tell(args: &TuneArgs, text: &str) {
    if args.json { eprintln!("{text}") } else { println!("{text}") }
}

/// The config in use. Without one, every kernel uses its default schedule.
fn load_config(named: Option<&Path>) -> Result<(PathBuf, Config), AppError> {
    let path = named.unwrap_or(Path::new(DEFAULT_CONFIG));
    if named.is_none() && !path.exists() {
        eprintln!("there is no {DEFAULT_CONFIG} here: winners are held against the default schedules");
        return Ok((path.to_owned(), Config::default()));
    }
    Ok((path.to_owned(), Config::load(path)?))
}

fn report_recovery(journal: &Journal) {
    let (recovery, path) = (journal.recovery(), journal.path().display());
    if recovery.dropped_bytes > 0 {
        eprintln!("{path}: dropped a last line that was cut short ({} bytes)", recovery.dropped_bytes);
    }
    if recovery.foreign_lines > 0 {
        eprintln!("{path}: {} lines of another version of the tuner are not used", recovery.foreign_lines);
    }
    if !journal.trials().is_empty() {
        eprintln!("{path}: {} trials are known; --fresh starts over", journal.trials().len());
    }
}
