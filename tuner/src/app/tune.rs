//! `tuner tune`: search, final, promotion, outputs.

use std::path::{Path, PathBuf};

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;

use super::error::AppError;
use super::outputs::{Outputs, next_command};
use super::proposer::proposer;
use super::select::{Job, jobs};
use crate::cli::TuneArgs;
use crate::evaluate::Evaluator;
use crate::journal::{Journal, Start};
use crate::promote;
use crate::report::{TargetResult, summary};
use crate::session::{Budget, INTERRUPTED, Progress, Session, Stop, StopReason, search};
use crate::strategy::{Brief, Known, Neighbours, neighbours};
use crate::target::Target;

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

    let progress = Progress::new();
    let mut results: Vec<TargetResult> = Vec::new();
    let mut promoted = Vec::new();
    // Winners seed the searches after theirs, but each is held against what is in use before the run.
    let mut known = config.clone();
    let mut ending = Ending::Finished;
    for mut job in jobs {
        let result = tune_one(
            args,
            &mut job,
            &known,
            &config,
            &mut Shared { journal: &mut journal, stop, progress: &progress },
        )?;
        ending = match &result.search.stopped {
            StopReason::Broken(reason) => Ending::Broken(reason.clone()),
            StopReason::Interrupted => Ending::Interrupted,
            _ if stop.is_requested() => Ending::Interrupted,
            StopReason::BudgetSpent | StopReason::GenerationsSpent | StopReason::NothingLeft => Ending::Finished,
        };
        if let Some(entry) =
            result.promotion.as_ref().and_then(|outcome| promote::entry(outcome, job.evaluator.as_ref()))
        {
            known.upsert(entry.clone());
            promoted.push(entry);
        }
        results.push(result);
        if ending != Ending::Finished {
            break;
        }
    }
    let written =
        outputs.write_config(config, &promoted).and_then(|()| outputs.write_reports(journal.trials(), &results));
    println!("{}\n{}", summary(&results), outputs.listing());
    println!("{}", next_command(args, &ending, &results));
    match (ending, written) {
        (ending, Ok(())) => Ok(ending),
        // A full disk breaks both; what broke the search says more.
        (Ending::Broken(reason), Err(error)) => Ok(Ending::Broken(format!("{reason}\nand: {error}"))),
        (_, Err(error)) => Err(error),
    }
}

/// What all targets of a run share.
struct Shared<'r> {
    journal: &'r mut Journal,
    stop: &'r Stop,
    progress: &'r Progress,
}

fn tune_one(
    args: &TuneArgs,
    job: &mut Job,
    known: &Config,
    in_use: &Config,
    shared: &mut Shared<'_>,
) -> Result<TargetResult, AppError> {
    let Job { target, evaluator } = job;
    let brief = brief(args, target, evaluator.as_ref(), known);
    let (mut strategy, description) = proposer(args, &brief)?;
    let budget = Budget { evaluations: brief.evaluations, generations: brief.generations };
    let session = &mut Session {
        target,
        evaluator: evaluator.as_mut(),
        strategy: strategy.as_mut(),
        journal: shared.journal,
        budget,
        stop: shared.stop,
        progress: shared.progress,
    };
    let mut search = search(session);
    let ended_early = matches!(search.stopped, StopReason::Interrupted | StopReason::Broken(_));
    let promotion = if ended_early {
        None
    } else {
        match promote::hold_final(&search, in_use, evaluator.as_mut()) {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                search.stopped = StopReason::Broken(error.to_string());
                None
            }
        }
    };
    Ok(TargetResult {
        strategy: description,
        origin: evaluator.origin(),
        environment: evaluator.environment().clone(),
        gpu: evaluator.gpu().clone(),
        optimum: evaluator.optimum(target),
        search,
        promotion,
    })
}

/// What the strategy is told beforehand.
fn brief(args: &TuneArgs, target: &Target, evaluator: &dyn Evaluator, config: &Config) -> Brief {
    let space = evaluator.space(target);
    let which = if evaluator.is_replay() { Neighbours::OtherShapes } else { Neighbours::All };
    let mut known = neighbours(config, target, which);
    let default = Schedule::default_for(&target.problem.class(), target.arch);
    known.push(Known { schedule: default, origin: format!("default for {}", target.arch) });
    known.retain(|known| space.contains(&known.schedule));
    Brief {
        target: target.clone(),
        gpu: evaluator.gpu().clone(),
        space: space.into(),
        known,
        evaluations: args.evaluations as usize,
        generations: args.generations as usize,
        seed: args.seed,
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
