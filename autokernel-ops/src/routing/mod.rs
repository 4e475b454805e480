//! Routing: which experts compute each token, and the tokens in the order of their experts, without a look by the host.

mod declare;
mod emit;
mod operation;
mod plan;
mod problem;
mod schedule;

pub use problem::{Class, DIMS, LARGEST_TOP_K, MOST_EXPERTS, Problem, extents};
pub use schedule::{RULES, Schedule};

#[cfg(test)]
mod tests;
