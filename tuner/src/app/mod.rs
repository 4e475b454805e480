//! The commands, as functions.

mod error;
mod json;
mod outputs;
mod proposer;
mod run;
mod select;
mod tune;

pub use error::AppError;
pub use json::RunDocument;
pub use select::{Job, jobs, own_spaces};
pub use tune::{DEFAULT_CONFIG, Ending, tune};
