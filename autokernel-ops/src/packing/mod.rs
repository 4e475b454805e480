//! Packing: weights of floats as numbers of 8 or 4 bits with a scale for each group along K, where they lie.

mod declare;
mod emit;
mod operation;
mod plan;
mod problem;
mod schedule;

pub use problem::{Class, DIMS, Problem, extents};
pub use schedule::{RULES, Schedule};

#[cfg(test)]
mod tests;
