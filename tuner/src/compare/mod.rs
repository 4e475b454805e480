//! Strategies held against each other on recorded spaces, at equal budgets and over many seeds.

mod args;
mod arm;
mod chart;
mod contest;
mod costs;
mod models;
mod replies;
mod run;
mod standing;
mod table;

pub use args::CompareArgs;
pub use arm::Arm;
pub use contest::{Arena, Course};
pub use costs::Costs;
pub use models::Models;
pub use replies::RecordedReplies;
pub use run::courses;
pub use standing::{Checkpoint, Quartiles, Standing};
pub use table::Comparison;
