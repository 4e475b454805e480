//! Shapes that nobody tuned: against cuBLASLt in interleaved rounds, or what a launch chooses against what was recorded.

mod breakdown;
mod choice;
mod cli;
mod outcome;
mod recorded;

pub use cli::GridArgs;
