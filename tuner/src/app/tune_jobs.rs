//! The run of some jobs, its outputs, and what people are told.

use super::args::TuneArgs;
use super::ending::Ending;
use super::error::AppError;
use super::in_use::InUse;
use super::job::Job;
use super::json::RunDocument;
use super::on_study;
use super::outputs::{Outputs, next_command};
use super::run::Run;
use crate::journal::{Journal, Start};
use crate::report::summary;
use crate::stop::Stop;
use crate::store::Store;

/// Tunes `jobs`, and writes the outputs even if it is stopped.
///
/// # Errors
/// It could not begin, or an output could not be written.
pub fn tune_jobs(
    args: &TuneArgs,
    in_use: InUse,
    outputs: &Outputs,
    mut jobs: Vec<Job>,
    stop: &Stop,
) -> Result<Ending, AppError> {
    let mut store = store(args, outputs, &jobs, stop)?;

    let config = in_use.with(&[]);
    let mut run = Run::new(args, &config, store.as_mut(), stop, &outputs.transcript())?;
    let mut ending = run.tune_all(&mut jobs)?;
    let mut ranges = Vec::new();
    if ending == Ending::Finished {
        match run.choose_for_ranges(&mut jobs) {
            Ok(chosen) => ranges = chosen,
            Err(error) => ending = Ending::Broken(error.to_string()),
        }
    }
    let mut entries = run.entries(&in_use);
    entries.extend(ranges.iter().filter_map(|range| range.entry.clone()));
    let Run { results, model, .. } = run;
    let written = outputs
        .write_config(in_use.own, &entries)
        .and_then(|()| outputs.write_reports(store.records().trials(), &results));
    let spent = model.map(|model| format!("model         {}; {}\n", model.spent(), outputs.transcript().display()));
    let chosen: String = ranges.iter().map(|range| format!("\n{}", range.summary())).collect();
    let text = format!(
        "{}{chosen}\n{}\nended         {ending}\n{}{}",
        summary(&results),
        outputs.listing(args.source.study.as_ref(), written.is_ok(), &entries),
        spent.unwrap_or_default(),
        next_command(args, &ending, &results, &ranges)
    );
    tell(args, &text);
    let ending = match (ending, written) {
        (ending, Ok(())) => ending,
        // A full disk breaks both; what broke the search says more.
        (Ending::Broken(reason), Err(error)) => Ending::Broken(format!("{reason}\nand: {error}")),
        (_, Err(error)) => return Err(error),
    };
    if args.json {
        outln!("{}", RunDocument::of(&ending, &results, ranges, outputs.folder()).to_json());
    }
    Ok(ending)
}

/// What remembers the trials: the journal of the output folder, or the study that `args` name.
fn store(args: &TuneArgs, outputs: &Outputs, jobs: &[Job], stop: &Stop) -> Result<Box<dyn Store>, AppError> {
    if let Some(url) = &args.source.study {
        outputs.create_folder()?;
        return on_study::store(url, jobs, stop);
    }
    let start = if args.fresh { Start::Fresh } else { Start::Resume };
    let journal = Journal::open(&outputs.journal(), start)?;
    report_recovery(&journal);
    stop.withdraws(journal.intents());
    Ok(Box::new(journal))
}

/// Says `text` where people read it.
fn tell(args: &TuneArgs, text: &str) {
    if args.json { errln!("{text}") } else { outln!("{text}") }
}

fn report_recovery(journal: &Journal) {
    let (recovery, path) = (journal.recovery(), journal.path().display());
    if recovery.dropped_bytes > 0 {
        errln!("{path}: dropped a last line that was cut short ({} bytes)", recovery.dropped_bytes);
    }
    if recovery.foreign_lines > 0 {
        errln!("{path}: {} lines of another version of the tuner are not used", recovery.foreign_lines);
    }
    for schedule in &recovery.blamed {
        errln!("{path}: {schedule} was running when the last run was cut short; it is not tried again");
    }
    if !journal.trials().is_empty() {
        errln!("{path}: {} trials are known; --fresh starts over", journal.trials().len());
    }
}
