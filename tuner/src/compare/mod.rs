//! Strategies held against each other on recorded spaces, at equal budgets and over many seeds.

mod args;
mod arm;
mod chart;
mod contest;
mod costs;
mod models;
mod progress;
mod replies;
mod run;
mod standing;
mod table;

pub(crate) use args::CompareArgs;
pub use arm::Arm;
pub use contest::{Arena, Course};
pub use costs::Costs;
pub use run::courses;
pub use standing::Standing;
