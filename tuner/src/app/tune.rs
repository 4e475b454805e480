//! `tuner tune`: what is in use, the run, the outputs.

use std::path::{Path, PathBuf};

use autokernel_codegen::config::Config;

use super::error::AppError;
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
    /// Prompts await these reply files; the outputs are written.
    Unanswered(Vec<PathBuf>),
    /// It could not go on; the outputs are written.
    Broken(String),
}

impl Ending {
    /// The documented exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Ending::Finished => 0,
            Ending::Broken(_) => 1,
            Ending::Unanswered(_) => UNANSWERED,
            Ending::Interrupted => INTERRUPTED,
        }
    }
}

/// Exit code of a run that ended because a prompt awaits its reply file.
const UNANSWERED: u8 = 4;

/// The config in use where none is named.
const DEFAULT_CONFIG: &str = "best_config.json";

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

    let mut run = Run::new(args, &config, &mut journal, stop, &outputs.transcript())?;
    let ending = run.tune_all(jobs)?;
    let Run { results, promoted, model, .. } = run;
    let written =
        outputs.write_config(config, &promoted).and_then(|()| outputs.write_reports(journal.trials(), &results));
    println!("{}\n{}", summary(&results), outputs.listing());
    if let Some(model) = model {
        println!("model         {}; {}", model.spent(), outputs.transcript().display());
    }
    println!("{}", next_command(args, &ending, &results));
    match (ending, written) {
        (ending, Ok(())) => Ok(ending),
        // A full disk breaks both; what broke the search says more.
        (Ending::Broken(reason), Err(error)) => Ok(Ending::Broken(format!("{reason}\nand: {error}"))),
        (_, Err(error)) => Err(error),
    }
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
