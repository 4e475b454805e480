//! The few images that serve every shape well, and the model that chooses among them, from recordings.

mod choice;
mod cli;
mod fit;
mod greedy;
mod measured;
mod validation;

pub use cli::PortfolioArgs;
pub use measured::Measured;
pub use validation::{geomean, quantile};
