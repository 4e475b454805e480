//! `tuner study` and `tuner journal`: making a study, looking at it, and moving trials in and out.

use std::path::PathBuf;
use std::time::Duration;

use super::demanding::DemandedArgs;
use super::error::AppError;
use crate::folder;
use crate::journal::{Journal, Start};
use crate::stop::Stop;
use crate::store::{Records, Store};
use crate::study::{Link, Policy, Queue, Scope, Status, Study, StudyUrl};

/// Make a study that several machines share, or look at one.
#[derive(Debug, clap::Subcommand)]
pub enum StudyCommand {
    /// Make a study in an empty database, or beside what else it holds.
    Create(CreateArgs),
    /// Ask for targets, which whoever watches the study then searches.
    Demand(Box<DemandedArgs>),
    /// Say how far a study is and who works for it.
    Status {
        /// The study: postgres://USER@HOST/DATABASE, or env:VARIABLE.
        #[arg(value_name = "URL")]
        study: StudyUrl,
    },
}

/// How a study is made.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// The database: postgres://USER:PASSWORD@HOST/DATABASE, or env:VARIABLE. Its tables go into the schema `autokernel`.
    #[arg(value_name = "URL")]
    pub study: StudyUrl,
    /// How long a worker that gives no sign of life keeps what it took, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub lease: u32,
    /// How many workers may be lost over a schedule before it is recorded as the one to blame.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub attempts: u32,
}

/// Move trials, finals and references between a journal and a study.
#[derive(Debug, clap::Subcommand)]
pub enum JournalCommand {
    /// Write what a journal holds into a study.
    Import(MoveArgs),
    /// Write what a study holds into a journal.
    Export(MoveArgs),
}

/// From where to where.
#[derive(Debug, clap::Args)]
pub struct MoveArgs {
    /// The study: postgres://USER@HOST/DATABASE, or env:VARIABLE.
    #[arg(long, value_name = "URL")]
    pub study: StudyUrl,
    /// The journal.
    #[arg(long, value_name = "FILE", default_value = folder::DEFAULT_JOURNAL)]
    pub journal: PathBuf,
}

impl StudyCommand {
    /// Does it.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn run(&self) -> Result<(), AppError> {
        match self {
            StudyCommand::Create(CreateArgs { study, lease, attempts }) => {
                let policy = Policy { lease: Duration::from_secs(u64::from(*lease)), attempts: *attempts };
                policy.create(&mut Link::open(study, &Stop::default())?)?;
                outln!(
                    "made a study in {study}\nnext          tuner work --study URL, on each machine with a GPU; tuner --study URL, anywhere"
                );
            }
            StudyCommand::Demand(args) => args.run()?,
            StudyCommand::Status { study } => outln!("{study}: {}", Status::of(&mut open(study)?)?),
        }
        Ok(())
    }
}

impl JournalCommand {
    /// Moves them. What is there already stays.
    ///
    /// # Errors
    /// The journal or the study cannot be used.
    pub fn run(&self) -> Result<(), AppError> {
        let (JournalCommand::Import(args) | JournalCommand::Export(args)) = self;
        let mut study = Study::read(open(&args.study)?, Scope::All)?;
        let is_import = matches!(self, JournalCommand::Import(_));
        if is_import && !args.journal.is_file() {
            return Err(AppError::NoJournal { journal: args.journal.clone() });
        }
        let mut journal = Journal::open(&args.journal, Start::Resume)?;
        let moved = if is_import { copy(journal.records(), &mut study)? } else { copy(study.records(), &mut journal)? };
        let (from, to) = (args.journal.display().to_string(), args.study.to_string());
        let (from, to) = if is_import { (from, to) } else { (to, from) };
        outln!("{moved} trials from {from} into {to}");
        Ok(())
    }
}

fn open(url: &StudyUrl) -> Result<Queue, AppError> {
    Ok(Queue::open(Link::open(url, &Stop::default())?)?)
}

/// Writes into `to` what `from` holds and it does not; how many trials that were.
fn copy(from: &Records, to: &mut dyn Store) -> Result<usize, AppError> {
    let new = from.trials().iter().filter(|trial| to.records().find(&trial.key()).is_none());
    let new: Vec<_> = new.cloned().collect();
    let moved = new.len();
    to.append_all(new)?;
    for held in from.finals() {
        if !to.records().finals().contains(held) {
            to.append_final(held.clone())?;
        }
    }
    for reference in from.references() {
        if to.records().reference(&reference.target, &reference.environment).is_none() {
            to.append_reference(reference.clone())?;
        }
    }
    Ok(moved)
}
