//! A sketch of an operation, `out = alpha · x`, for tests alone: that a room is added by its own folder and a few lines of
//! tables, and that build, tuner and runtime carry it unchanged.

mod emit;
mod operation;
mod problem;
mod schedule;

pub use problem::{Class, Problem};
pub use schedule::{RULES, Schedule};

#[cfg(test)]
mod tests;
