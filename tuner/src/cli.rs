//! The command line.

use clap::{Parser, Subcommand};

use crate::app::TuneArgs;
#[cfg(feature = "study")]
use crate::app::{JournalCommand, StudyCommand, WorkArgs};
use crate::compare::CompareArgs;
use crate::doctor::DoctorArgs;
use crate::exchange::{ExportArgs, ImportArgs};
use crate::gpu::cli::{FinalArgs, RecordArgs, WorkerArgs};
use crate::grid::GridArgs;
use crate::portfolio::PortfolioArgs;
use crate::profile::ProfileArgs;
use crate::regret::RegretArgs;
use crate::report::ReportArgs;
use crate::show::ShowArgs;
#[cfg(not(feature = "study"))]
use crate::study::LeftOut;

/// Finds the fastest schedules for autokernel's kernels and writes them to best_config.json.
#[derive(Debug, Parser)]
#[command(version, about, after_help = EXIT_CODES, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do; `tune` if nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `tune`.
    #[command(flatten)]
    pub tune: TuneArgs,
}

/// Documented exit codes.
const EXIT_CODES: &str = "\
Exit codes:
  0    finished; see the verdicts for what was promoted
  1    could not go on; the last line says why and what to do
  2    the command line is wrong
  3    another tuner is using the output folder
  4    a prompt awaits its reply file (--llm-unanswered stop); the same command goes on once it is there
  130  tune or final was interrupted; what was measured is kept, and tune goes on by the same command";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Search schedules and promote the winners (the default).
    Tune(Box<TuneArgs>),
    /// Measure a whole space of schedules on this machine's GPU, to be searched again without one.
    Record(RecordArgs),
    /// Hold strategies against each other on recorded spaces, at equal budgets and over many seeds.
    Compare(CompareArgs),
    /// Hold the finals of a journal again, and say how far their choices are from the best.
    Final(FinalArgs),
    /// Write the trials of a journal in a format that other tuners read.
    Export(ExportArgs),
    /// Make a space to replay of another tuner's results.
    Import(ImportArgs),
    /// Make a study that several machines share, or look at one.
    #[cfg(feature = "study")]
    #[command(subcommand)]
    Study(StudyCommand),
    /// Measure for a study, until it is stopped.
    #[cfg(feature = "study")]
    Work(WorkArgs),
    /// Move trials between a journal and a study.
    #[cfg(feature = "study")]
    #[command(subcommand)]
    Journal(JournalCommand),
    /// Of a study, in a tuner that was built without.
    #[cfg(not(feature = "study"))]
    #[command(hide = true)]
    Study(LeftOut),
    /// Of a study, in a tuner that was built without.
    #[cfg(not(feature = "study"))]
    #[command(hide = true)]
    Work(LeftOut),
    /// Of a study, in a tuner that was built without.
    #[cfg(not(feature = "study"))]
    #[command(hide = true)]
    Journal(LeftOut),
    /// Check what tuning needs: driver, GPU, nvcc, config, caches, recorded spaces.
    Doctor(DoctorArgs),
    /// Measure drawn shapes that nobody tuned against cuBLASLt.
    Grid(GridArgs),
    /// Search drawn shapes that nobody tuned, and say how far behind what a launch chooses is.
    Regret(RegretArgs),
    /// List the tuned entries, how old they are, and which should be tuned again.
    Show(ShowArgs),
    /// Choose the few images that serve every shape, and fit the model that chooses among them.
    Portfolio(PortfolioArgs),
    /// Say what bounds a kernel, how full it keeps a GPU, and what to try next.
    Profile(ProfileArgs),
    /// Write an output folder's results as one HTML page.
    Report(ReportArgs),
    /// Serve measurements on standard input and output (started by the tuner itself).
    #[command(hide = true)]
    Worker(WorkerArgs),
}
