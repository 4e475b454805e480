//! Why a command could not begin, or not end as it should.

use std::path::PathBuf;

use autokernel_codegen::config::ConfigError;

use crate::demand::DemandError;
use crate::evaluate::EvaluatorError;
use crate::journal::JournalError;
use crate::llm::LlmError;
use crate::output::OutputError;
use crate::range::NotOfShape;
use crate::replay::RecordingError;
use crate::report::ChartError;
use crate::store::StoreError;

/// Why a command could not begin, or not end as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppError {
    /// The config in use cannot be read or replaced.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The config that was named is not there.
    #[error("{} does not exist; name a config that does, or leave --config out: winners are then held against the default schedules", .config.display())]
    NoConfig {
        /// The config.
        config: PathBuf,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Trials cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A recorded space cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The language model cannot be asked.
    #[error(transparent)]
    Llm(#[from] LlmError),
    /// A chart cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// An output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The GPUs that were asked for cannot measure.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// There is nothing to replay.
    #[error(
        "no recorded space in {}; run in the repository, or name a folder of recordings with --spaces",
        .folder.display()
    )]
    NoSpaces {
        /// Where they were looked for.
        folder: PathBuf,
    },
    /// The filters leave nothing.
    #[error(
        "nothing that was asked for has been recorded; recorded are:\n{recorded}\nleave filters out, or measure on a GPU"
    )]
    NothingSelected {
        /// What there is, a line each.
        recorded: String,
    },
    /// A final is to be measured where nothing can be.
    #[error("a final is measured: run it on a machine with an NVIDIA GPU and nvcc")]
    NoGpu,
    /// A final has nothing to choose from.
    #[error(
        "{} holds nothing that was asked for and measured on this GPU with these kernels; run `tuner` first",
        .journal.display()
    )]
    NothingJournaled {
        /// The journal.
        journal: PathBuf,
    },
    /// The crate or the launch log cannot be used.
    #[error(transparent)]
    Demand(#[from] DemandError),
    /// Nothing of what a crate or a program needs can be tuned here.
    #[error("nothing can be tuned:\n{notes}")]
    NothingTunable {
        /// Why, a line each with its remedy.
        notes: String,
    },
    /// The study cannot be used.
    #[cfg(feature = "study")]
    #[error(transparent)]
    Study(#[from] crate::study::StudyError),
    /// There is no journal to move trials from.
    #[cfg(feature = "study")]
    #[error("{} does not exist; name the journal with --journal", .journal.display())]
    NoJournal {
        /// The journal.
        journal: PathBuf,
    },
    /// The options leave a target nothing to try.
    #[error("{target}: {reason}")]
    Constraints {
        /// What was to be tuned.
        target: String,
        /// What is there, and what to change.
        reason: String,
    },
    /// The range is of a dimension that a shape does not have.
    #[error(transparent)]
    Range(#[from] NotOfShape),
    /// Options that do not go together.
    #[error("{0}")]
    Usage(&'static str),
}

impl AppError {
    /// The documented exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            AppError::Journal(JournalError::Busy { .. }) => 3,
            AppError::Range(_) | AppError::Usage(_) => 2,
            _ => 1,
        }
    }
}

#[cfg(feature = "study")]
impl From<crate::study::WorkError> for AppError {
    fn from(error: crate::study::WorkError) -> Self {
        match error {
            crate::study::WorkError::Study(error) => error.into(),
            crate::study::WorkError::Evaluator(error) => error.into(),
        }
    }
}
