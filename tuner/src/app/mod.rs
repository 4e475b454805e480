//! The commands, as functions.

mod error;
mod finals;
mod outputs;
mod proposer;
mod run;
mod select;
mod tune;

pub use error::AppError;
pub use finals::finals;
pub(crate) use select::own_spaces;
pub use select::{Job, jobs};
pub use tune::{Ending, tune};
