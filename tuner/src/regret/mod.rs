//! What the launch's choice loses to a search, at drawn shapes.

mod cli;
mod lost;
mod tuned;

pub use cli::RegretArgs;
