//! Shapes that nobody tuned, drawn by a seed, against cuBLASLt in interleaved rounds.

mod cli;
mod outcome;

pub use cli::GridArgs;
