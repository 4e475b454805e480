//! The commands, as functions.

mod args;
#[cfg(feature = "study")]
mod compile;
#[cfg(feature = "study")]
mod demanding;
mod ending;
mod error;
mod finals;
mod in_use;
mod job;
mod json;
mod long_final;
mod on_gpu;
#[cfg(feature = "study")]
mod on_study;
#[cfg(not(feature = "study"))]
#[path = "no_study.rs"]
mod on_study;
mod outputs;
mod proposer;
mod replay;
mod run;
mod select;
#[cfg(feature = "study")]
mod study;
mod tune;
mod tune_jobs;
#[cfg(feature = "study")]
mod watch;
#[cfg(not(feature = "study"))]
#[path = "no_watch.rs"]
mod watch;
#[cfg(feature = "study")]
mod work;
#[cfg(feature = "study")]
mod work_args;

pub(crate) use args::TuneArgs;
pub use ending::Ending;
pub use error::AppError;
pub use finals::finals;
pub use json::RunDocument;
pub(crate) use proposer::provider;
#[cfg(feature = "study")]
pub use study::{JournalCommand, StudyCommand};
pub use tune::tune;
#[cfg(feature = "study")]
pub use work::work;
#[cfg(feature = "study")]
pub use work_args::WorkArgs;
