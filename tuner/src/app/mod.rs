//! The commands, as functions.

mod args;
mod ending;
mod error;
mod finals;
mod in_use;
mod job;
mod json;
mod on_gpu;
mod outputs;
mod proposer;
mod replay;
mod run;
mod select;
mod tune;

pub(crate) use args::TuneArgs;
pub use ending::Ending;
pub use error::AppError;
pub use finals::finals;
pub use json::RunDocument;
pub(crate) use proposer::provider;
pub use tune::tune;
